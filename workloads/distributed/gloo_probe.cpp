// What gloo.cmake links gloo_wire.cpp into, to see whether it fits the LibTorch at hand.
int main() { return 0; }
