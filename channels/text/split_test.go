package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/text"
)

// texts gives what is sent.
func texts(parts []text.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}

// requireSound checks what holds for every split.
func requireSound(t require.TestingT, input string, l text.Limit, parts []text.Part) {
	require.Equal(t, strings.ToValidUTF8(input, "\uFFFD"), text.Join(parts))
	at := 0
	for i, p := range parts {
		require.LessOrEqual(t, l.Unit.Measure(p.Text), l.Max, "part %d of %d in %s: %q", i, len(parts), l.Unit, p.Text)
		require.True(t, utf8.ValidString(p.Text))
		require.Equal(t, at, p.Start)
		at += len(p.Body()) + len(p.Gap)
		if i == len(parts)-1 {
			require.LessOrEqual(t, l.Unit.Measure(p.Text)+l.Reserve, l.Max, "room for the suffix")
		} else {
			require.NotEmpty(t, p.Text)
		}
	}
}

// codeOf gives the code and the prose of a message as a Markdown client shows it.
func codeOf(message string) (code string, blocks, others int) {
	for _, b := range text.Parse(message).Blocks {
		if c, ok := b.(*text.CodeBlock); ok {
			code += c.Code
			blocks++
		} else {
			others++
		}
	}
	return code, blocks, others
}

func TestSplit(t *testing.T) {
	cases := []struct {
		name  string
		text  string
		limit text.Limit
		want  []string
	}{
		{"empty", "", text.Limit{Max: 10}, nil},
		{"short text is untouched", "  hi \n\n", text.Limit{Max: 10}, []string{"  hi \n\n"}},
		{"exactly the limit", "0123456789", text.Limit{Max: 10}, []string{"0123456789"}},
		{"paragraph before line", "one two\n\nthree\nfour five", text.Limit{Max: 20}, []string{"one two", "three\nfour five"}},
		{"line before word", "one two six\nthree four", text.Limit{Max: 16}, []string{"one two six", "three four"}},
		{"sentence before word", "It is done. All of it", text.Limit{Max: 16}, []string{"It is done.", "All of it"}},
		{"word before grapheme", "one two three", text.Limit{Max: 10}, []string{"one two", "three"}},
		{"early paragraph does not make a tiny part", "a\n\nbbbb cccc dddd", text.Limit{Max: 12}, []string{"a\n\nbbbb cccc", "dddd"}},
		{"CJK sentence", "一二三。四五六七", text.Limit{Max: 6}, []string{"一二三。", "四五六七"}},
		{"CJK comma", "一二三，四五六七", text.Limit{Max: 6}, []string{"一二三，", "四五六七"}},
		{"heading stays with its text", "aa bb cc dd\n\n## Next\ntext here", text.Limit{Max: 22}, []string{"aa bb cc dd", "## Next\ntext here"}},
		{"indentation after a cut stays", "one two\n  - three", text.Limit{Max: 12}, []string{"one two", "  - three"}},
		{"trailing newlines make no part", "0123456789\n\n", text.Limit{Max: 10}, []string{"0123456789"}},
		{"link is whole", "see [a b](https://e.c/x) ok", text.Limit{Max: 21}, []string{"see", "[a b](https://e.c/x)", "ok"}},
		{"image link is whole", "see it [![a b](u v)](https://e.c) ok", text.Limit{Max: 28}, []string{"see it", "[![a b](u v)](https://e.c)", "ok"}},
		{"code span is whole", "run `a b c d` now", text.Limit{Max: 12}, []string{"run", "`a b c d`", "now"}},
		{"entity is whole", "abcdefg&amp;hij", text.Limit{Max: 10}, []string{"abcdefg", "&amp;hij"}},
		{"emphasis is whole", "one **two three** four", text.Limit{Max: 16}, []string{"one", "**two three**", "four"}},
		{"emphasis too long is cut at words", "**one two three four**", text.Limit{Max: 12}, []string{"**one two", "three four**"}},
		{"link too long is cut", "[aaaaaaaaaa](bbbbbbbbbb)", text.Limit{Max: 12}, []string{"[aaaaaaaaaa]", "(bbbbbbbbbb)"}},
		{"bytes", "ääääää", text.Limit{Max: 5, Unit: text.Bytes}, []string{"ää", "ää", "ää"}},
		{"runes", "🎩🎩🎩", text.Limit{Max: 2, Unit: text.Runes}, []string{"🎩🎩", "🎩"}},
		{"UTF-16", "🎩🎩🎩", text.Limit{Max: 5}, []string{"🎩🎩", "🎩"}},
		{"graphemes", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦é", text.Limit{Max: 2, Unit: text.Graphemes}, []string{"👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "é"}},
		{"grapheme over the limit is cut between runes", "👩‍👧", text.Limit{Max: 3}, []string{"👩‍", "👧"}},
		{"rune over the limit", "🎩", text.Limit{Max: 1}, []string{"🎩"}},
		{"flags are whole", "🇩🇪🇫🇷", text.Limit{Max: 7}, []string{"🇩🇪", "🇫🇷"}},
		{"invalid UTF-8 is replaced", "a\xff\xfeb", text.Limit{Max: 10}, []string{"a\uFFFDb"}},
		{"reserve makes another part", "one two", text.Limit{Max: 8, Reserve: 4}, []string{"one", "two"}},
		{"reserve with nothing to cut", "`one 2`", text.Limit{Max: 8, Reserve: 4}, []string{"`one 2`", ""}},
		{"soft lines", "a\nb\nc\nd", text.Limit{Max: 100, SoftLines: 2}, []string{"a\nb", "c\nd"}},
		{"soft lines yield to a fence", "```\na\nb\n```", text.Limit{Max: 100, SoftLines: 1}, []string{"```\na\nb\n```"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			parts := text.Split(c.text, c.limit)
			require.Equal(t, c.want, texts(parts))
			require.Equal(t, strings.ToValidUTF8(c.text, "\uFFFD"), text.Join(parts))
		})
	}
}

func TestSplitFences(t *testing.T) {
	code := "aaaa\nbbbb\ncccc\ndddd\neeee\nffff\ngggg\n"
	cases := []struct {
		name, text string
		want       []string
	}{
		{"info string is repeated", "```go\n" + code + "```\n", []string{
			"```go\naaaa\nbbbb\ncccc\ndddd\n```", "```go\neeee\nffff\ngggg\n```\n"}},
		{"tilde", "~~~\n" + code + "~~~", []string{
			"~~~\naaaa\nbbbb\ncccc\ndddd\neeee\n~~~", "~~~\nffff\ngggg\n~~~"}},
		{"long marker", "````\n" + "```\n" + code + "````", []string{
			"````\n```\naaaa\nbbbb\ncccc\n````", "````\ndddd\neeee\nffff\ngggg\n````"}},
		{"left open is closed", "```\nab", []string{"```\nab\n```"}},
		{"info string too long to repeat", "```a-long-name\n" + code + "```", []string{
			"```a-long-name\naaaa\nbbbb\n```", "```\ncccc\ndddd\neeee\nffff\ngggg\n```"}},
		{"in a quote", "> ```\n> aaaa\n> bbbbbbbbbbbbbbbbbbbb\n> ```", []string{
			"> ```\n> aaaa\n> ```", "> ```\n> bbbbbbbbbbbbbbbbbb\n> ```", "> ```\n> bb\n> ```"}},
		{"in a list", "1. x\n   ```\n   aaaa\n   bbbb\n   cccc\n   ```\n2. y", []string{
			"1. x\n   ```\n   aaaa\n   ```", "   ```\n   bbbb\n   cccc\n   ```", "2. y"}},
		{"not a fence: indented code", "    ```\n    aaaa bbbb cccc dddd eeee", []string{
			"    ```\n    aaaa bbbb cccc dddd", "eeee"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := text.Limit{Max: 32}
			parts := text.Split(c.text, l)
			require.Equal(t, c.want, texts(parts))
			requireSound(t, c.text, l, parts)
		})
	}
}

// An unset limit is the strictest one known, not infinity.
func TestLimitUnset(t *testing.T) {
	parts := text.Split(strings.Repeat("a", 2*text.DefaultMax), text.Limit{})
	require.Len(t, parts, 2)
}

func TestB257_LongLineInFence(t *testing.T) {
	input := "```\n" + strings.Repeat("a", 20000) + "\n```"
	l := text.Limit{Max: 4000}
	parts := text.Split(input, l)
	requireSound(t, input, l, parts)
	payload := 0
	for _, p := range parts {
		code, blocks, others := codeOf(p.Text)
		require.Equal(t, 1, blocks)
		require.Zero(t, others)
		payload += strings.Count(code, "a")
	}
	require.Equal(t, 20000, payload)
	require.Len(t, parts, 6)
}

func TestB259_FenceOnFirstLine(t *testing.T) {
	input := "```python\n" + strings.Repeat("print(1)\n", 500)
	for _, input := range []string{input, input + "```"} {
		l := text.Limit{Max: 2000}
		parts := text.Split(input, l)
		requireSound(t, input, l, parts)
		all := ""
		for _, p := range parts {
			require.True(t, strings.HasPrefix(p.Text, "```python\n"))
			code, blocks, others := codeOf(p.Text)
			require.Equal(t, 1, blocks)
			require.Zero(t, others)
			require.True(t, strings.HasSuffix(strings.TrimSpace(p.Text), "\n```"))
			all += code
		}
		require.Equal(t, strings.Repeat("print(1)\n", 500), all)
	}
}

// The splitting half: the limit is the adapter's and nothing is lost.
func TestB261_OverLimitIsSplit(t *testing.T) {
	for _, unit := range []string{"x", "word ", "line\n"} {
		input := strings.Repeat(unit, 2001/len(unit)+1)[:2001]
		l := text.Limit{Max: 2000}
		parts := text.Split(input, l)
		require.LessOrEqual(t, len(parts), 2)
		requireSound(t, input, l, parts)
	}
	require.Len(t, text.Split(strings.Repeat("x", 2001), text.Limit{Max: 2000}), 2)
}

func TestB263_EmojiAtTheLimit(t *testing.T) {
	for _, emoji := range []string{"🎩", "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301\u0302"} {
		for pad := 4080; pad <= 4096; pad++ {
			input := strings.Repeat("a", pad) + strings.Repeat(emoji, 3) + "tail"
			l := text.Limit{Max: 4096}
			parts := text.Split(input, l)
			requireSound(t, input, l, parts)
			whole := 0
			for _, p := range parts {
				whole += strings.Count(p.Text, emoji)
			}
			require.Equal(t, 3, whole, "no emoji is cut")
		}
	}
}

func TestB279_TildeFence(t *testing.T) {
	input := "~~~\n" + strings.Repeat("some *stars* here\n", 200) + "~~~"
	l := text.Limit{Max: 300}
	parts := text.Split(input, l)
	requireSound(t, input, l, parts)
	all := ""
	for _, p := range parts {
		code, blocks, others := codeOf(p.Text)
		require.Equal(t, 1, blocks)
		require.Zero(t, others, "no prose in %q", p.Text)
		all += code
	}
	require.Equal(t, strings.Repeat("some *stars* here\n", 200), all)
}

// A renderer whose platform needs no fence lines (entities instead) gives bare
// ranges: nothing is added, and Start tells where its own ranges are cut.
func TestSplitRenderedWithoutFenceLines(t *testing.T) {
	const before, code = "look: ", "aaaa\nbbbb\ncccc\ndddd"
	r := text.Rendered{
		Text:   before + code + "\nend",
		Fences: []text.Fence{{Start: len(before), Body: len(before), BodyEnd: len(before + code), End: len(before + code)}},
	}
	parts := text.SplitRendered(r, text.Limit{Max: 16})
	require.Equal(t, []string{"look: aaaa\nbbbb\n", "cccc\ndddd\nend"}, texts(parts))
	require.Equal(t, 16, parts[1].Start)
	require.Equal(t, r.Text, text.Join(parts))
}

// TestB265_TheStricterUnit: a platform that may count code points or UTF-16 gets
// parts that pass by both.
func TestB265_TheStricterUnit(t *testing.T) {
	input := strings.Repeat("😀", 4096)
	parts := text.Split(input, text.Limit{Max: 4096})
	require.Len(t, parts, 2)
	for _, p := range parts {
		require.LessOrEqual(t, text.UTF16.Measure(p.Text), 4096)
		require.LessOrEqual(t, text.Runes.Measure(p.Text), 4096)
	}
	requireSound(t, input, text.Limit{Max: 4096}, parts)
}
