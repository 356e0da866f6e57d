package command

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]*Line{
		"/stop":                {Name: "stop"},
		"  /stop \n":           {Name: "stop"},
		"/focus cats":          {Name: "focus", Args: "cats"},
		"/focus\tcats  and ":   {Name: "focus", Args: "cats  and"},
		"/new\nlocal/m1":       {Name: "new", Args: "local/m1"},
		"/stop@skein":          {Name: "stop", Bot: "skein"},
		"/focus@Skein_bot 2":   {Name: "focus", Bot: "Skein_bot", Args: "2"},
		"/session max-age off": {Name: "session", Args: "max-age off"},
		"/do_it-2 x":           {Name: "do_it-2", Args: "x"},
		"/usr/bin":             nil,
		"/usr/bin is empty":    nil,
		"/":                    nil,
		"//":                   nil,
		"/ stop":               nil,
		"/1":                   nil,
		"/_x":                  nil,
		"/Stop":                {Name: "stop"},
		"/FOCUS Cats":          {Name: "focus", Args: "Cats"},
		"/stop@":               nil,
		"/stop@ skein":         nil,
		"/étage":               nil,
		"/stop.":               nil,
		"stop":                 nil,
		"please /stop":         nil,
		"":                     nil,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			line, ok := Parse(text)
			require.Equal(t, want != nil, ok)
			if want != nil {
				require.Equal(t, *want, line)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/stop", "/focus@bot a b", "/usr/bin", "/x\u00a0y", "/a@b@c d", "\x00/stop", "/stop\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := Parse(text)
		if !ok {
			require.Zero(t, l)
			return
		}
		require.True(t, validName(l.Name))
		require.Equal(t, strings.TrimSpace(l.Args), l.Args)
		require.Equal(t, -1, strings.IndexFunc(l.Name, unicode.IsSpace))
		again := "/" + l.Name
		if l.Bot != "" {
			again += "@" + l.Bot
		}
		if l.Args != "" {
			again += " " + l.Args
		}
		second, ok := Parse(again)
		require.True(t, ok)
		require.Equal(t, l, second)
	})
}

func ExampleParse() {
	line, ok := Parse("/focus@skein cats")
	fmt.Println(ok, line.Name, line.Bot, line.Args)
	_, ok = Parse("/usr/bin is empty")
	fmt.Println(ok)
	// Output:
	// true focus skein cats
	// false
}
