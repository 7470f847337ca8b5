extern "C" int NothingToSeeHere() { return 8; }
