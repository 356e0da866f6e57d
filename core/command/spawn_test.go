package command

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSpawn(t *testing.T) {
	for args, want := range map[string]spawnArgs{
		"main find cats":                               {agent: "main", task: "find cats"},
		"main find\n  all cats ":                       {agent: "main", task: "find\n  all cats"},
		`"Research Bot" find cats`:                     {agent: "Research Bot", task: "find cats"},
		`main "find cats" --thread`:                    {agent: "main", task: "find cats", thread: true},
		"main find cats --model m1 --thinking low":     {agent: "main", task: "find cats", model: "m1", thinking: "low"},
		"main --thread --model=a/m find cats":          {agent: "main", task: "find cats", model: "a/m", thread: true},
		"main find cats —thread —model m1":             {agent: "main", task: "find cats", model: "m1", thread: true},
		"main run --verbose and --model x twice":       {agent: "main", task: "run --verbose and --model x twice"},
		"main run --verbose":                           {agent: "main", task: "run --verbose"},
		"main --thread find --thinking=high --model m": {agent: "main", task: "find", thinking: "high", model: "m", thread: true},
	} {
		got, ok := parseSpawn(args)
		require.True(t, ok, args)
		require.Equal(t, want, got, args)
	}
	for _, args := range []string{
		"", "main", "main --thread", "main find --model", "main find --thinking", "main find --model m --model n", "main --thread find --thread",
		"main find --model --thread", "main --model m", "main find --model=",
	} {
		got, ok := parseSpawn(args)
		require.False(t, ok, "%q: %+v", args, got)
	}
}

func TestBeginsTurn(t *testing.T) {
	for text, want := range map[string]bool{
		"/retry": true, "/subagents send 1 x": true, "/subagents  spawn main x": true, "/subagents list": false, "/subagents": false, "/status": false, "/tasks spawn": false,
	} {
		l, ok := Parse(text)
		require.True(t, ok)
		require.Equal(t, want, BeginsTurn(l), text)
	}
}
