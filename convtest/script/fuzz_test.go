package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/convtest/script"
)

// FuzzParse: whatever the text, every line that says something is a statement
// or has an error of its own, and patterns of statements compile.
func FuzzParse(f *testing.F) {
	bad, err := os.ReadFile(filepath.Join("testdata", "bad.txt"))
	require.NoError(f, err)
	for _, c := range strings.Split(string(bad), "\n\n") {
		line, _, _ := strings.Cut(c, "\n")
		f.Add(line)
	}
	f.Add("alice @ console/main: hi\nconsole/main/* < /x/ => T\nconsole/main/$T < rest\n-- model.json5 --\n{}")
	f.Add("$ skein send --message 'a \\' b\" \\\n> /(x)/ => ID")
	f.Add("fault console poll retry-after 1d2h x 3\nplace a/b direct\nthread rename a/b/c \"d\"")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := script.Parse("f.txtar", []byte(src))
		if err != nil {
			require.Nil(t, s)
			require.NotEmpty(t, script.Errors(err))
			for _, e := range script.Errors(err) {
				require.LessOrEqual(t, e.Line, strings.Count(src, "\n")+1)
				require.NotEmpty(t, e.Expected)
			}
			return
		}
		require.NotEmpty(t, s.Lines)
		for _, l := range s.Lines {
			require.NotNil(t, l.Do)
			require.Equal(t, l.Text, strings.TrimSpace(strings.Split(src, "\n")[l.No-1]))
			if next, ok := l.Do.(script.Next); ok {
				_, err := next.Pattern.Compile(nil)
				require.NoError(t, err)
				again, err := script.Parse("f.txtar", []byte("a/b < "+next.Pattern.String()))
				require.NoError(t, err)
				require.Equal(t, next.Pattern, again.Lines[0].Do.(script.Next).Pattern)
			}
		}
		_, _, _ = s.Places(), s.Channels(), s.People()
	})
}
