package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/channels/text"
)

// proseGen draws a piece of prose.
func proseGen() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{1,12}`),
		rapid.StringMatching(`[a-z]{1,60}[.!?]`),
		rapid.SampledFrom([]string{
			" ", " ", "  ", "\n", "\n\n", "\r\n", "\t", ". ", "**bold text** ", "_it_", "~~gone~~", "a*b*c",
			"`code span`", "[text](https://example.org/a_b)", "![pic](https://example.org/p.png)",
			"<https://example.org>", "https://example.org/x(y)", "<@123>", "&amp;", "&#128512;", "snake_case_name",
			"漢字かな。", "文，", "👩‍👩‍👧‍👦", "🎩", "🇩🇪", "é", "नि", "\xff", "[", "](", ")", "*", "**", "\\", "\n- item ", "\n# Title\n", "\n> quote ",
		}),
	)
}

// fenceGen draws a code block that is closed.
func fenceGen(t *rapid.T) string {
	marker := rapid.SampledFrom([]string{"```", "~~~", "````", "~~~~~"}).Draw(t, "marker")
	info := rapid.SampledFrom([]string{"", "go", "python title"}).Draw(t, "info")
	lead := rapid.SampledFrom([]string{"", "", "  ", "> "}).Draw(t, "lead")
	line := rapid.OneOf(
		rapid.StringMatching(`[a-z *_]{0,40}`),
		rapid.StringMatching(`x[a-z]{100,300}`),
		rapid.SampledFrom([]string{"", "\tif x {", "    ```", "``", "~~", "漢字 👩‍👩‍👧‍👦", "[a](b)"}),
	)
	var b strings.Builder
	b.WriteString("\n\n" + lead + marker + info + "\n")
	for _, l := range rapid.SliceOfN(line, 0, 30).Draw(t, "code") {
		b.WriteString(lead + l + "\n")
	}
	b.WriteString(lead + marker + "\n\n")
	return b.String()
}

func markdownGen(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "blocks") {
		for _, p := range rapid.SliceOfN(proseGen(), 0, 40).Draw(t, "prose") {
			b.WriteString(p)
		}
		if rapid.Bool().Draw(t, "code block") {
			b.WriteString(fenceGen(t))
		}
	}
	if rapid.Bool().Draw(t, "open fence") {
		b.WriteString("\n```\nnot closed")
	}
	return b.String()
}

func limitGen(t *rapid.T) text.Limit {
	return text.Limit{
		Max:       rapid.IntRange(128, 400).Draw(t, "max"),
		Unit:      rapid.SampledFrom([]text.Unit{text.UTF16, text.Bytes, text.Runes, text.Graphemes}).Draw(t, "unit"),
		SoftLines: rapid.SampledFrom([]int{0, 0, 6, 17}).Draw(t, "lines"),
		Reserve:   rapid.SampledFrom([]int{0, 0, 10}).Draw(t, "reserve"),
	}
}

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input, l := markdownGen(t), limitGen(t)
		r := text.Source(input)
		parts := text.Split(input, l)
		requireSound(t, input, l, parts)
		cuts := make(map[int]bool)
		for i, p := range parts {
			for _, f := range text.Source(p.Text).Fences {
				require.Greater(t, f.End, f.BodyEnd, "balanced fences in part %d: %q", i, p.Text)
			}
			if l.SoftLines > 0 {
				require.LessOrEqual(t, strings.Count(strings.TrimRight(p.Text, "\n"), "\n")+1, l.SoftLines)
			}
			cuts[p.Start] = true
			cuts[p.Start+len(p.Body())] = true
		}
		requireGraphemes(t, r.Text, cuts)
		for _, k := range r.Keep {
			if k.Soft || l.Unit.Measure(r.Text[k.Start:k.End]) > l.Max {
				continue
			}
			for at := k.Start + 1; at < k.End; at++ {
				require.False(t, cuts[at], "cut inside %q", r.Text[k.Start:k.End])
			}
		}
	})
}

// requireGraphemes checks that every cut lies between two graphemes.
func requireGraphemes(t require.TestingT, s string, cuts map[int]bool) {
	delete(cuts, 0)
	for g := uniseg.NewGraphemes(s); g.Next(); {
		_, end := g.Positions()
		delete(cuts, end)
	}
	require.Empty(t, cuts, "cut inside a grapheme of %q", s)
}

// The splitter's scanner and the tree agree on the code blocks of a message.
func TestFencesAgreeWithTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{
			"```", "~~~", "````", "```go", "~~~ x y", "   ```", "``", "``` a`b", "```  ",
			"- item", "  - nested", "1. one", "   ```", "  ~~~", "> ```", "> text", "> ~~~", ">", "", "", "text", "# h",
		}), 0, 25).Draw(t, "lines")
		input := strings.Join(lines, "\n")
		require.Len(t, text.Source(input).Fences, countCode(text.Parse(input).Blocks), "%q", input)
	})
}

// countCode counts the code blocks of a tree.
func countCode(blocks []text.Block) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *text.CodeBlock:
			n++
		case *text.Quote:
			n += countCode(b.Blocks)
		case *text.List:
			for _, item := range b.Items {
				n += countCode(item.Blocks)
			}
		}
	}
	return n
}

// Whatever markup surrounds them, words survive parsing and plain rendering,
// and their order does.
func TestPlainKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glue := rapid.SampledFrom([]string{
			" ", " ", "\n", "\n\n", "*", "**", " **", "** ", "_", "~~", "`", " `", "\n# ", "\n- ", "\n  - ", "\n1. ", "\n> ", "\n    ",
			"\n```\n", "\n~~~ ", "[", "](", ")", "![", "<", ">", "&", "\\", " | ", "\n|-|-|\n", "\n--\n", "\t", "  \n", "\r\n", "&#10;", "\n[x] ",
		})
		var b strings.Builder
		n := rapid.IntRange(0, 40).Draw(t, "words")
		for i := range n {
			fmt.Fprintf(&b, "w%dx", i)
			for _, g := range rapid.SliceOfN(glue, 1, 3).Draw(t, "glue") {
				b.WriteString(g)
			}
		}
		rendered := text.Plain{}.Render(text.Parse(b.String()))
		rest := rendered.Text
		for i := range n {
			word := fmt.Sprintf("w%dx", i)
			at := strings.Index(rest, word)
			require.GreaterOrEqual(t, at, 0, "%s is missing or out of order in %q from %q", word, rendered.Text, b.String())
			rest = rest[at+len(word):]
		}
		l := limitGen(t)
		parts := text.SplitRendered(rendered, l)
		requireSound(t, rendered.Text, l, parts)
	})
}
