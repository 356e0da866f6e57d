package main

import (
	"bytes"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/clock"
)

// TestB173_ACompletionIsAScriptAndNothingElse: what `skein completion` prints is
// for a shell to read: no banner and no warning stands in it. Each shell that this
// machine has takes it.
func TestB173_ACompletionIsAScriptAndNothingElse(t *testing.T) {
	for shell, begins := range map[string]string{
		"bash": "# bash completion V2 for skein ", "zsh": "#compdef skein\n", "fish": "# fish completion for skein ", "powershell": "# powershell completion for skein ",
	} {
		t.Run(shell, func(t *testing.T) {
			var out, errs bytes.Buffer
			e := &env{stdin: new(bytes.Buffer), stdout: &out, stderr: &errs, lookup: noVariables, clock: clock.Real{}, zone: time.UTC}
			require.Equal(t, exitOK, execute(e, []string{"completion", shell}))
			require.Empty(t, errs.String())
			require.True(t, bytes.HasPrefix(out.Bytes(), []byte(begins)), "%.80s", out.String())
			if path, err := exec.LookPath(shell); err == nil && shell != "powershell" {
				parse := exec.CommandContext(t.Context(), path, "-n")
				parse.Stdin = &out
				said, err := parse.CombinedOutput()
				require.NoError(t, err, "%s", said)
				require.Empty(t, said)
			}
		})
	}
}
