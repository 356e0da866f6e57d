package subagent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASessionIsNamedByTheUUIDOfItsRun(t *testing.T) {
	require.Equal(t, "019b8d62-7a80-7294-8b32-7e0ef0cb8c30", uuid("01KE6P4YM0EAA8PCKY1VRCQ31G"))
	require.Equal(t, "r1", uuid("R1"), "no ULID")
}
