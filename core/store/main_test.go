package store_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play a second process: see child_test.go.
func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}
