#include "harness/commands/command.hpp"

int main(int argc, char** argv) { return harness::run_program(argc, argv); }
