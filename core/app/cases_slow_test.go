//go:build slow

package app_test

import "testing"

// TestABurstInEveryMode is TestABurstOfAThousand for the other queue modes.
func TestABurstInEveryMode(t *testing.T) {
	for _, mode := range []string{"collect", "followup", "interrupt"} {
		t.Run(mode, func(t *testing.T) { burst(t, mode) })
	}
}
