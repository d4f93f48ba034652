// Edits of the events of a log.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace harness::log_edits {

using Event = nlohmann::ordered_json;
using Events = std::vector<Event>;
using Edit = std::function<void(Events&)>;

inline std::string text_of(const Events& events) {
  std::string text;
  for (const Event& event : events) text.append(":::MLLOG ").append(event.dump()).append("\n");
  return text;
}

inline Events::iterator find(Events& events, const std::string& key) {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const Event& e) { return e.at("key") == key; });
  REQUIRE(found != events.end());
  return found;
}

inline Edit without(const std::vector<std::string>& keys) {
  return [keys](Events& events) {
    for (const std::string& key : keys) {
      find(events, key);
      std::erase_if(events, [&](const Event& event) { return event.at("key") == key; });
    }
  };
}

/// Every line with the key.
inline Edit value(const std::string& key, const Event& value) {
  return [key, value](Events& events) {
    find(events, key);
    for (Event& event : events) {
      if (event.at("key") == key) event["value"] = value;
    }
  };
}

inline Edit metadata(const std::string& key, const std::function<void(Event&)>& edit) {
  return [key, edit](Events& events) { edit(find(events, key)->at("metadata")); };
}

inline Edit without_metadata(const std::string& key, const std::string& name) {
  return metadata(key, [name](Event& data) { REQUIRE(data.erase(name) == 1); });
}

inline Edit twice(const std::string& key) {
  return [key](Events& events) {
    const Event event = *find(events, key);
    events.insert(find(events, key), event);
  };
}

inline Edit again(const std::string& key, const Event& value) {
  return [key, value](Events& events) {
    Event event = *find(events, key);
    event["value"] = value;
    events.insert(find(events, key) + 1, event);
  };
}

/// Moves the first line with `key` behind the first one with `other`.
inline Edit moved_behind(const std::string& key, const std::string& other) {
  return [key, other](Events& events) {
    const Event event = *find(events, key);
    events.erase(find(events, key));
    events.insert(find(events, other) + 1, event);
  };
}

inline Edit copied_behind(const std::string& key, const std::string& other) {
  return [key, other](Events& events) {
    const Event event = *find(events, key);
    events.insert(find(events, other) + 1, event);
  };
}

inline Edit initialising_for(std::int64_t milliseconds) {
  return [milliseconds](Events& events) {
    const std::int64_t start = find(events, "init_start")->at("time_ms");
    (*find(events, "init_stop"))["time_ms"] = start + milliseconds;
  };
}

inline Edit both(const Edit& first, const Edit& second) {
  return [first, second](Events& events) {
    first(events);
    second(events);
  };
}

inline Edit without_member(const std::string& key, const std::string& name) {
  return [key, name](Events& events) { REQUIRE(find(events, key)->erase(name) == 1); };
}

inline Edit member(const std::string& key, const std::string& name, const Event& value) {
  return [=](Events& events) { (*find(events, key))[name] = value; };
}

}  // namespace harness::log_edits
