package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContextFilesReachWhoTheyAreFor: the agent gets the files of its workspace,
// its sub-agents only those that are about the work, and with lightContext none.
func TestContextFilesReachWhoTheyAreFor(t *testing.T) {
	t.Parallel()
	s := prepareScene(t, "", `
  {when: {user: "/^send/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "kid"}}, {tool: "sessions_spawn", args: {task: "look", label: "light", lightContext: true}}]},
  {when: {task: "/./"}, say: "seen"}, {when: {event: "/./"}, say: "NO_REPLY"}, {when: {lastTool: "sessions_spawn"}, say: "sent"},`)
	workspace := filepath.Join(s.dir, "workspace")
	require.NoError(t, os.Mkdir(workspace, 0o700))
	s.write("workspace/AGENTS.md", "the house rules")
	s.write("workspace/SOUL.md", "a warm heart")
	s.configure(fmt.Sprintf(`{ agents: { entries: { main: { workspace: %q } } } }`, workspace))
	s.start()
	s.say("team", "send two")
	for label, want := range map[string]struct{ rules, heart bool }{"": {true, true}, "kid": {true, false}, "light": {false, false}} {
		system := s.last(label).System
		require.Contains(t, system, "You help.", label)
		for text, there := range map[string]bool{"the house rules": want.rules, "a warm heart": want.heart} {
			if there {
				require.Contains(t, system, text, label)
			} else {
				require.NotContains(t, system, text, label)
			}
		}
	}
	require.True(t, s.run("light").Spec.LightContext)
	s.stop()
}
