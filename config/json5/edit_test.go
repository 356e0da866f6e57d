package json5_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config/json5"
)

func TestReplaceKeepsEveryOtherByte(t *testing.T) {
	src := []byte("{ // one\r\n  a: 'x', /* y */ \"b\": [1, /*two*/ 2,],\r\n}\r\n")
	tree, err := json5.Parse("f", src)
	require.NoError(t, err)
	require.Equal(t, "{ // one\r\n  a: true, /* y */ \"b\": [1, /*two*/ 2,],\r\n}\r\n", string(json5.Replace(src, tree.Get("a"), "true")))
	require.Equal(t, "{ // one\r\n  a: 'x', /* y */ \"b\": [1, /*two*/ {},],\r\n}\r\n", string(json5.Replace(src, tree.At("b", "1"), "{}")))
}

// TestAddWritesAsTheNeighboursAre adds "new: 1", and shows what it becomes.
func TestAddWritesAsTheNeighboursAre(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"empty", "{}", "{ new: 1 }"},
		{"blank", "{ }", "{ new: 1 }"},
		{"empty lines", "{\n}\n", "{\n  new: 1,\n}\n"},
		{"comment", "{ /* c */ }", "{ /* c */  new: 1 }"},
		{"comment on its line", "{\n  // c\n}", "{\n  // c\n  new: 1,\n}"},
		{"inline", "{ a: 1 }", "{ a: 1, new: 1 }"},
		{"inline, comma", "{ a: 1, }", "{ a: 1, new: 1, }"},
		{"inline, comment", "{ a: 1 // c\n}", "{ a: 1, new: 1 // c\n}"},
		{"lines", "{\n\ta: 1\n}", "{\n\ta: 1,\n\tnew: 1\n}"},
		{"lines, comma", "{\n  a: 1,\n}", "{\n  a: 1,\n  new: 1,\n}"},
		{"lines, comments", "{\n  a: 1, // c\n  // d\n}", "{\n  a: 1, // c\n  new: 1,\n  // d\n}"},
		{"lines, no comma, comment", "{\n  a: 1 /* c */\n}", "{\n  a: 1, /* c */\n  new: 1\n}"},
		{"comma behind a comment", "{\n  a: 1 /* , */ ,\n}", "{\n  a: 1 /* , */ ,\n  new: 1,\n}"},
		{"two comments", "{\n  a: 1, /* c */ /* d\n */\n}", "{\n  a: 1,\n  new: 1, /* c */ /* d\n */\n}"},
		{"closed on the line", "{\n  a: 1 }", "{\n  a: 1,\n  new: 1 }"},
		{"commas first", "{ a: 1\n, b: 2\n}", "{ a: 1\n, b: 2, new: 1\n}"},
		{"CR LF", "{\r\n  a: 1,\r\n}\r\n", "{\r\n  a: 1,\r\n  new: 1,\r\n}\r\n"},
		{"JSON", "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"new\": 1\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := json5.Parse("f", []byte(tt.src))
			require.NoError(t, err)
			got := json5.Add([]byte(tt.src), tree, "new", "1")
			require.Equal(t, tt.want, string(got))
			after, err := json5.Parse("f", got)
			require.NoError(t, err)
			require.InDelta(t, 1, after.Get("new").Num, 0)
		})
	}
}

func TestKeysAreQuotedWhereTheyHaveToBe(t *testing.T) {
	for key, want := range map[string]string{"plain": "plain", "-100": `"-100"`, "a b": `"a b"`, "\a\u2028": `"\u0007\u2028"`, "": `""`, "<": `"<"`} {
		src := []byte("{}")
		tree, err := json5.Parse("f", src)
		require.NoError(t, err)
		require.Equal(t, "{ "+want+": 1 }", string(json5.Add(src, tree, key, "1")))
	}
}
