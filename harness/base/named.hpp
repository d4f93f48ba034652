// Looking up things that are told apart by their member `name`.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// Null when none of `things` is called so.
template <class Thing>
const Thing* find_named(const std::vector<Thing>& things, const std::string& name) {
  const auto found = std::find_if(things.begin(), things.end(),
                                  [&](const Thing& thing) { return thing.name == name; });
  return found == things.end() ? nullptr : &*found;
}

template <class Thing>
std::vector<std::string> names_of(const std::vector<Thing>& things) {
  std::vector<std::string> names;
  for (const Thing& thing : things) names.push_back(thing.name);
  return names;
}

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& things) {
  std::vector<std::string> names;
  for (const auto& [name, thing] : things) names.push_back(name);
  return names;
}

}  // namespace harness
