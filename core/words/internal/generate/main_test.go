package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOutputIsFresh: the generated files are those of the texts.
func TestOutputIsFresh(t *testing.T) {
	files, err := generate("../../texts")
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is stale: go generate ./core/words", name)
	}
}

func TestGoNames(t *testing.T) {
	require.Equal(t, "BindingIntroChild", goName("binding.intro.child"))
	require.Equal(t, "LabelSessionID", goName("label.session-id"))
	require.Equal(t, "RefuseNotOwner", goName("refuse.not-owner"))
}
