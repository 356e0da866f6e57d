package store_test

const childRole = "SKEIN_STORE_TEST_CHILD"

func playChild(string) int { return 1 }
