//go:build !linux

package store_test

import "testing"

// unprivileged runs fn; other systems are not expected to test as root.
func unprivileged(t *testing.T, fn func()) {
	t.Helper()
	fn()
}
