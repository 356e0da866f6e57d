package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/text"
)

func plain(markdown string) string { return text.Plain{}.Render(text.Parse(markdown)).Text }

func TestPlain(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"emphasis", "a **b** _c_ ***d***", "a b c d"},
		{"struck text keeps its marks", "~~no~~ yes", "~~no~~ yes"},
		{"heading", "# One\ntext\n\nTwo\n---", "One\n\ntext\n\nTwo\n\n---"},
		{"line breaks", "a\nb  \nc\\\nd", "a\nb\nc\nd"},
		{"CR LF", "a\r\nb\r\n\r\nc", "a\nb\n\nc"},
		{"link", "[t](https://e.c/x)", "t (https://e.c/x)"},
		{"link that is its text", "[https://e.c](https://e.c) <https://e.c/y> www.e.c a@e.c", "https://e.c https://e.c/y www.e.c a@e.c"},
		{"link without text", "[](https://e.c)", "https://e.c"},
		{"link reference", "[t][1]\n\n[1]: https://e.c", "t (https://e.c)"},
		{"unused definition is text", "[1]: https://e.c \"T\"\n[2]: https://e.d", "[1]: https://e.c \"T\"\n[2]: https://e.d"},
		{"image", "![a cat](https://e.c/c.png)", "a cat (https://e.c/c.png)"},
		{"code span", "`a*b` `` x`y ``", "`a*b` `` x`y ``"},
		{"escapes and entities", `\*a\* &amp; &copy; &amp;lt; \&amp;`, "*a* & © &lt; &amp;"},
		{"tags are text", "x <thinking> y\n\n<div>\n*z*\n</div>", "x <thinking> y\n\n<div>\nz\n</div>"},
		{"list", "- a\n- b\n  - c\n    1. d\n    2. e\n- f", "- a\n- b\n  - c\n    1. d\n    2. e\n- f"},
		{"loose list", "3. a\n\n4. b\n\n   c", "3. a\n\n4. b\n\n   c"},
		{"tasks", "- [x] a\n- [ ] b", "- [x] a\n- [ ] b"},
		{"empty item", "-\n- a", "- \n- a"},
		{"quote", "> a\n>\n> > b\n> c", "> a\n>\n> > b\n> > c"},
		{"list in quote in list", "- > - a\n  >   b", "- > - a\n  >   b"},
		{"rule", "a\n\n***\n\nb", "a\n\n---\n\nb"},
		{"code block", "```go x\nfunc *a*\n\n```", "```go x\nfunc *a*\n\n```"},
		{"tilde block", "~~~\na\n~~~", "```\na\n```"},
		{"indented code", "    a\n     b", "```\na\n b\n```"},
		{"block in list", "- a\n  ```sh\n  b\n  ```\n- c", "- a\n  ```sh\n  b\n  ```\n- c"},
		{"block in quote", "> ```\n> a\n>\n> b\n> ```", "> ```\n> a\n>\n> b\n> ```"},
		{"table", "| a | right |\n|:-:|--:|\n| **long** | 1 |\n| 漢字 | 22 |", " a   | right\n-----+------\nlong |     1\n漢字 |    22"},
		{"table row with missing and surplus cells", "|a|b|\n|-|-|\n|1|\n|1|2|3|", "a | b\n--+------\n1\n1 | 2 | 3"},
		{"invalid UTF-8", "a\xffb", "a\uFFFDb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, plain(c.in)) })
	}
}

// The ranges of the plain renderer make the splitter keep its links and close
// its code blocks, prefixes included.
func TestPlainSplit(t *testing.T) {
	r := text.Plain{}.Render(text.Parse("see [the docs](https://e.c/a) for it\n\n- x\n\n  ```go\n  aaaa\n  bbbb\n  cccc\n  ```"))
	parts := text.SplitRendered(r, text.Limit{Max: 30})
	require.Equal(t, []string{
		"see the docs (https://e.c/a)", "for it\n\n- x", "  ```go\n  aaaa\n  bbbb\n  ```", "  ```\n  cccc\n  ```",
	}, texts(parts))
	require.Equal(t, r.Text, text.Join(parts))
}

// Literal backticks of the author are no fence in rendered text.
func TestPlainLiteralFence(t *testing.T) {
	r := text.Plain{}.Render(text.Parse("\\`\\`\\`\n" + strings.Repeat("word ", 20)))
	for _, p := range text.SplitRendered(r, text.Limit{Max: 40}) {
		require.Zero(t, p.Opened+p.Closed)
	}
}

func TestB273_SnakeCase(t *testing.T) {
	require.Equal(t, []text.Block{&text.Paragraph{Inlines: []text.Inline{text.Text("call user_id_field now")}}},
		text.Parse("call user_id_field now").Blocks)
	require.Equal(t, "call user_id_field now", plain("call user_id_field now"))
	require.Equal(t, "a__b__c and _x_y_z", plain("a__b__c and \\_x_y_z"))
}

func TestB275_BackticksInCode(t *testing.T) {
	const code = "print(\"```\")\n"
	doc := text.Parse("```python\n" + code + "```")
	require.Equal(t, []text.Block{&text.CodeBlock{Info: "python", Code: code}}, doc.Blocks)
	out := text.Plain{}.Render(doc)
	require.Equal(t, "````python\n"+code+"````", out.Text)
	require.Equal(t, doc, text.Parse(out.Text), "one block again")

	nested := "````md\n```go\nx\n```\n````"
	require.Equal(t, []text.Block{&text.CodeBlock{Info: "md", Code: "```go\nx\n```\n"}}, text.Parse(nested).Blocks)
	require.Equal(t, nested, plain(nested))
}

func TestLiteralTextIsNoMarkup(t *testing.T) {
	for _, s := range []string{
		"Sub-agents:\n1. cats\n3. bees\nAgents: main",
		"a*b*c_d_ [x](y) <target> `code` # ~~~ \\*",
		"    four spaces\n\n\nand three line ends",
		"```\nno fence",
		"",
	} {
		require.Equal(t, s, text.Plain{}.Render(text.Literal(s)).Text)
	}
	require.Equal(t, "a\nb\uFFFD", text.Plain{}.Render(text.Literal("a\r\nb\xff \n")).Text)
}

// TestB267_UnknownTagsStayVisible: what looks like a tag is text.
func TestB267_UnknownTagsStayVisible(t *testing.T) {
	for _, s := range []string{"x <thinking> y", "a <b>c</b> d", "1 < 2 && 3 > 2", "<thinking>\nline\n</thinking>", "won't & <b>"} {
		require.Equal(t, s, plain(s))
	}
}

// TestB271_LinksKeepTheirTarget: no markup inside a URL is markup.
func TestB271_LinksKeepTheirTarget(t *testing.T) {
	for _, url := range []string{"https://e.c/foo__bar__x", "https://e.c/a_b_c*d*e", "https://e.c/~~x~~?q=`y`", "https://e.c/a(b)c_d_"} {
		require.Equal(t, []text.Block{&text.Paragraph{Inlines: []text.Inline{&text.Link{URL: url, Inlines: []text.Inline{text.Text("t")}}}}},
			text.Parse("[t]("+url+")").Blocks, url)
		require.Contains(t, plain("[t]("+url+")"), url)
	}
}
