package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core"
)

// part draws a part of an address or key: the words of the text forms and the
// characters they escape, so that collisions are likely.
func part(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"a", "A", "b", "agent", "main", "direct", "group", "thread", "subagent", "cron", "run", "%", "%3A", ":", "/", "a:b", "$AbC", " "}),
		rapid.StringN(1, 8, -1),
	).Draw(t, name)
}

func address(t *rapid.T, name string) core.Address {
	a := core.Address{Channel: part(t, name+" channel"), Account: part(t, name+" account"), Conversation: part(t, name+" conversation")}
	if rapid.Bool().Draw(t, name+" in a thread") {
		a.Thread = part(t, name+" thread")
	}
	return a
}

func TestAddressText(t *testing.T) {
	for text, want := range map[string]core.Address{
		"console:main:general":               {Channel: "console", Account: "main", Conversation: "general"},
		"console:main:general/t1":            {Channel: "console", Account: "main", Conversation: "general", Thread: "t1"},
		"matrix:main:!r%3Ahost.org/$AbC":     {Channel: "matrix", Account: "main", Conversation: "!r:host.org", Thread: "$AbC"},
		"telegram:main:-100123/7":            {Channel: "telegram", Account: "main", Conversation: "-100123", Thread: "7"},
		"x:y:a%2Fb%25%20%0A%7F/\u00e9\u2028": {Channel: "x", Account: "y", Conversation: "a/b% \n\x7f", Thread: "\u00e9\u2028"},
	} {
		got, err := core.ParseAddress(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	require.Empty(t, core.Address{Parent: "p"}.String())
}

func TestParseAddressErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":               "1 parts separated by ':' instead of 3",
		"console:main":   "2 parts",
		"a:b:c:d":        "4 parts",
		":b:c":           "the channel is empty",
		"a::c":           "the account is empty",
		"a:b:":           "the conversation is empty",
		"a:b:/t":         "the conversation is empty",
		"a:b:c/":         "the thread is empty",
		"a:b:c/d/e":      "more than one '/'",
		"a:b:c d":        "byte 0x20 is not escaped",
		"a:b:c%":         "an escape is cut short",
		"a:b:c%2":        "an escape is cut short",
		"a:b:c%zz":       `bad escape "%zz"`,
		"a:b:c%2f":       `bad escape "%2f"`,
		"a:b:c%41":       `needless escape "%41"`,
		"a:b:c/d%00%3G!": `bad escape "%3G"`,
	} {
		_, err := core.ParseAddress(text)
		require.ErrorIs(t, err, core.ErrBadAddress, text)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "want channel:account:conversation", text)
	}
}

func TestAddressRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := address(t, "a"), address(t, "b")
		got, err := core.ParseAddress(a.String())
		require.NoError(t, err)
		require.Equal(t, a, got)
		require.Equal(t, a == b, a.String() == b.String(), "one place has one spelling")
	})
}

func TestAddressIdentity(t *testing.T) {
	a := core.Address{Channel: "discord", Account: "main", Conversation: "c", Thread: "t", Parent: "p"}
	moved := a
	moved.Parent = "q"
	require.True(t, a.Same(moved), "the parent is only an attribute")
	require.False(t, a.Same(a.InThread("")))
	require.Equal(t, "u", a.InThread("u").Thread)
	require.Equal(t, "t", a.Thread, "InThread changes a copy")
	require.False(t, a.IsZero())
	require.True(t, core.Address{Parent: "p"}.IsZero())

	require.Equal(t, core.Address{Channel: "discord", Account: "main", Conversation: "p"}, a.ParentConversation())
	topic := core.Address{Channel: "telegram", Account: "main", Conversation: "c", Thread: "t"}
	require.Equal(t, topic.InThread(""), topic.ParentConversation())
	require.Equal(t, topic, topic.Place().Address())

	text, err := json.Marshal(map[core.Place]int{topic.Place(): 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"telegram:main:c/t":1}`, string(text))
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"a:b:c", "a:b:c/d", "a:b:c%2Fd", "a:b:c/%", ":::", "a:b:c%41", "\xff:b:c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := core.ParseAddress(s)
		if err != nil {
			require.ErrorIs(t, err, core.ErrBadAddress)
			return
		}
		require.Equal(t, s, a.String())
		require.False(t, strings.ContainsAny(s, " \t\r\n"))
	})
}

func ExampleParseAddress() {
	a, err := core.ParseAddress("telegram:main:-100123/7")
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Conversation, a.Thread)
	fmt.Println(a.ParentConversation())
	// Output:
	// -100123 7
	// telegram:main:-100123
}
