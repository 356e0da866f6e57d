package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/text"
)

func TestParse(t *testing.T) {
	doc := text.Parse("# *T*\n\n1) [x **b**](u \"t\") `c`\n   - [x] done\n\n> q  \n> r\n\n|a|b|\n|:-|-:|\n|1||\n\n![p](i) ~~s~~ <https://e.c>\n\n***")
	require.Equal(t, []text.Block{
		&text.Heading{Level: 1, Inlines: []text.Inline{&text.Emphasis{Inlines: []text.Inline{text.Text("T")}}}},
		&text.List{Ordered: true, Start: 1, Tight: true, Items: []text.Item{{Blocks: []text.Block{
			&text.Paragraph{Inlines: []text.Inline{
				&text.Link{URL: "u", Title: "t", Inlines: []text.Inline{
					text.Text("x "), &text.Emphasis{Style: text.Bold, Inlines: []text.Inline{text.Text("b")}},
				}},
				text.Text(" "), text.Code("c"),
			}},
			&text.List{Tight: true, Items: []text.Item{{Task: text.TaskDone, Blocks: []text.Block{
				&text.Paragraph{Inlines: []text.Inline{text.Text("done")}},
			}}}},
		}}}},
		&text.Quote{Blocks: []text.Block{&text.Paragraph{Inlines: []text.Inline{text.Text("q"), text.Break{}, text.Text("r")}}}},
		&text.Table{
			Align:  []text.Align{text.AlignLeft, text.AlignRight},
			Header: []text.Cell{{text.Text("a")}, {text.Text("b")}},
			Rows:   [][]text.Cell{{{text.Text("1")}}},
		},
		&text.Paragraph{Inlines: []text.Inline{
			&text.Image{URL: "i", Inlines: []text.Inline{text.Text("p")}}, text.Text(" "),
			&text.Emphasis{Style: text.Strike, Inlines: []text.Inline{text.Text("s")}}, text.Text(" "),
			&text.Link{URL: "https://e.c", Auto: true, Inlines: []text.Inline{text.Text("https://e.c")}},
		}},
		&text.Rule{},
	}, doc.Blocks)
}

// Long messages are parsed in stretches; the seams do not show.
func TestParseLong(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"paragraphs", strings.Repeat("some *text* here\n\n", 5000), strings.TrimSpace(strings.Repeat("some text here\n\n", 5000))},
		{"one paragraph", strings.Repeat("some *text* here\n", 5000), strings.TrimSpace(strings.Repeat("some text here\n", 5000))},
		{"one line is literal", strings.Repeat("some *text* here ", 5000), strings.TrimSpace(strings.Repeat("some *text* here ", 5000))},
		{"code", "```\n" + strings.Repeat("*a*\n\n", 9000) + "```", "```\n" + strings.Repeat("*a*\n\n", 9000) + "```"},
		{"tight list", strings.Repeat("- *a*\n", 500), strings.TrimSpace(strings.Repeat("- a\n", 500))},
		{"brackets", strings.Repeat("[*a*]\n", 300) + "\n*b*", strings.Repeat("[*a*]\n", 300) + "\nb"},
		{"markers", strings.Repeat("> ", 16) + "> *a*", strings.Repeat("> ", 16) + "> a"},
		{"columns", strings.Repeat("|a", 40) + "\n" + strings.Repeat("|-", 40), strings.Repeat("|a", 40) + "\n" + strings.Repeat("|-", 40)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, plain(c.in)) })
	}
}

// Text made to be slow to parse is not: each of these took minutes or all
// memory in the parser alone.
func TestParseHostile(t *testing.T) {
	const n = 200_000
	for name, in := range map[string]string{
		"quotes":       strings.Repeat(">", n),
		"lists":        strings.Repeat("- ", n/4) + "x" + strings.Repeat("\n", n/2) + "y",
		"list fence":   strings.Repeat(strings.Repeat("- ", 4000)+"```\n\n\n\n\n", n/8000),
		"brackets":     strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"links":        strings.Repeat("[a](", n/4),
		"link lines":   strings.Repeat("[a](\n", n/5),
		"emphasis":     strings.Repeat("*a **b \n", n/8),
		"wide table":   strings.Repeat("|a", n/8) + "\n" + strings.Repeat("|-", n/8) + "\n" + strings.Repeat("x\n", n/4),
		"ticks":        strings.Repeat("`a``b```c\n", n/10),
		"nested lists": nestedLists(n),
	} {
		t.Run(name, func(t *testing.T) {
			text.SplitRendered(text.Plain{}.Render(text.Parse(in)), text.Limit{Max: 4096})
		})
	}
}

func nestedLists(n int) string {
	var b strings.Builder
	for depth := 0; b.Len() < n; depth = (depth + 1) % 180 {
		b.WriteString(strings.Repeat("  ", depth) + "- a\n")
	}
	return b.String()
}
