package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/text"
)

var seeds = []string{
	"", "hello *world*", "```go\nx := 1\n```", "~~~\na", "> ```\n> a\nb", "- ```\n  a\n  ```\n\n1. b", "[a](b) ![c](d) <e> &amp; `f`",
	"| a | b |\n|---|---|\n| 1 | 2 | 3 |", "a\r\nb\xff\xfe", "👩‍👩‍👧‍👦🇩🇪e\u0301", "[1]: u \"t\"", "\\`\\`\\`", "-\t```\n\tx", "``` `\n``", ">\t~~~", "**a [b**](c)",
}

func FuzzSplit(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, 4+i*3, byte(i), i%5, i%3)
	}
	f.Fuzz(func(t *testing.T, input string, most int, unit byte, lines, reserve int) {
		l := text.Limit{Max: 4 + abs(most)%200, Unit: text.Unit(unit % 4), SoftLines: abs(lines) % 20}
		l.Reserve = abs(reserve) % (l.Max + 1)
		requireSound(t, input, l, text.Split(input, l))
	})
}

func FuzzPlain(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, input string) {
		doc := text.Parse(input)
		r := text.Plain{}.Render(doc)
		rest := letters(r.Text)
		for _, s := range contents(nil, doc.Blocks) {
			for _, c := range letters(s) {
				i := indexRune(rest, c)
				require.GreaterOrEqual(t, i, 0, "%q of %q is missing in %q", c, s, r.Text)
				rest = rest[i+1:]
			}
		}
		l := text.Limit{Max: 60}
		requireSound(t, r.Text, l, text.SplitRendered(r, l))
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

// letters keeps what is neither markup nor white space.
func letters(s string) (out []rune) {
	for _, c := range s {
		if c > ' ' && c != '`' && c != '~' && c != '-' {
			out = append(out, c)
		}
	}
	return out
}

func indexRune(s []rune, c rune) int {
	for i := range s {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// contents lists all text of a document in order.
func contents(out []string, blocks []text.Block) []string {
	for _, b := range blocks {
		switch b := b.(type) {
		case *text.Paragraph:
			out = spans(out, b.Inlines)
		case *text.Heading:
			out = spans(out, b.Inlines)
		case *text.Quote:
			out = contents(out, b.Blocks)
		case *text.List:
			for _, item := range b.Items {
				out = contents(out, item.Blocks)
			}
		case *text.CodeBlock:
			out = append(out, b.Info, b.Code)
		case *text.Table:
			for _, row := range append([][]text.Cell{b.Header}, b.Rows...) {
				for _, cell := range row {
					out = spans(out, cell)
				}
			}
		}
	}
	return out
}

func spans(out []string, inlines []text.Inline) []string {
	for _, n := range inlines {
		switch n := n.(type) {
		case text.Text:
			out = append(out, string(n))
		case text.Code:
			out = append(out, string(n))
		case *text.Emphasis:
			out = spans(out, n.Inlines)
		case *text.Link:
			out = spans(out, n.Inlines)
		case *text.Image:
			out = spans(out, n.Inlines)
		}
	}
	return out
}
