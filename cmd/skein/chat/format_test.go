package chat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/console"
)

func TestStyleLine(t *testing.T) {
	plain, colored := style{}, style{color: true}
	for _, c := range []struct {
		name string
		s    style
		l    Line
		want string
	}{
		{"a message", plain, Line{Place: "main", Here: true, From: "skein", Text: "hello"}, "[main] skein: hello\n"},
		{"several lines", plain, Line{Place: "#1 x", From: "x", Text: "a\n\nb\n"}, "[#1 x] x: a\n\n       b\n"},
		{"a notice", plain, Line{Place: "main", Text: "you are here"}, "[main] -- you are here\n"},
		{"a place", plain, Line{Place: "main"}, "[main]\n"},
		{"no steering", plain, Line{Place: "main", From: "e\x1b[31mvil", Text: "a\x1b]0;title\x07b\u009bc\td"}, "[main] e[31mvil: a]0;titlebc\td\n"},
		{"colours", colored, Line{Place: "main", Here: true, From: "you", Mine: true, Text: "x"}, "\x1b[2m[main] \x1b[0m\x1b[32myou:\x1b[0m x\n"},
		{"another place", colored, Line{Place: "#1", From: "cats", Text: "x"}, "\x1b[36m[#1] \x1b[0m\x1b[1mcats:\x1b[0m x\n"},
		{
			"wrapped", style{width: func() int { return 30 }},
			Line{Place: "main", From: "skein", Text: "one two three four five six\n- seven eight nine ten eleven"},
			"[main] skein: one two three\n       four five six\n       - seven eight nine ten\n         eleven\n",
		},
		{"one long word", style{width: func() int { return 20 }}, Line{Place: "m", From: "x", Text: "abcdefghijklmnopqrstuvwxyz z"},
			"[m] x: abcdefghijklmnopqrstuvwxyz\n    z\n"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.s.line(c.l)) })
	}
}

func TestStylePrompt(t *testing.T) {
	s := NewScreen(console.Local, console.Main)
	require.Equal(t, "main> ", style{}.prompt(s))
	s.Know([]console.Thread{{ID: "t1", Title: "猫", Conversation: console.Main}})
	_, err := s.Go("1")
	require.NoError(t, err)
	require.Equal(t, "#1> ", style{}.prompt(s), "wide characters would put the cursor in the wrong place")
}
