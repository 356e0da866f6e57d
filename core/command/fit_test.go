package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core/words"
)

func TestCut(t *testing.T) {
	require.Equal(t, "abc", cut("abc", 3))
	require.Equal(t, "ab…", cut("abcd", 3))
	require.Equal(t, "a…", cut("a😀b", 3), "a character of two units is not torn")
	require.Equal(t, "a😀", cut("a😀", 3))
}

func TestListsCountWhatTheyLeaveOut(t *testing.T) {
	rows := make([]string, 100)
	for i := range rows {
		rows[i] = strings.Repeat("x", 50)
	}
	require.Equal(t, "head\na\nb\ntail", list(english, "head", []string{"a", "b"}, "tail"))
	require.Equal(t, "head", list(english, "head", nil, ""))
	require.Contains(t, list(english, "head", rows, "tail"), "… and 66 more\ntail")
	require.Contains(t, latest(english, "head", rows), "head\n… 66 earlier left out\n")
}

func TestWhateverFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.StringN(0, 400, -1), 0, 60).Draw(t, "rows")
		head := rapid.StringN(0, 200, -1).Draw(t, "head")
		tail := rapid.StringN(0, 200, -1).Draw(t, "tail")
		w := rapid.SampledFrom(words.Shipped()).Draw(t, "language")
		require.LessOrEqual(t, units(list(w, head, rows, tail)), replyLimit)
		require.LessOrEqual(t, units(latest(w, head, rows)), replyLimit)
		require.LessOrEqual(t, units(Fit(strings.Join(rows, "\n"))), replyLimit)
	})
}
