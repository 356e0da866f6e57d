package text

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parse reads Markdown: CommonMark without HTML and underlined headings (in chat
// a line of dashes under a text is a rule), with the tables, strike-through,
// task lists and bare URLs of GitHub. Every text is valid Markdown; what is not
// markup is text, and CR LF ends a line as LF does. It does not block. Link definitions that nothing refers to
// stay in the document as text, and so do surplus cells of a table row.
func Parse(markdown string) *Document {
	doc := &Document{}
	for _, s := range stretches(strings.ReplaceAll(valid(markdown), "\r\n", "\n")) {
		var blocks []Block
		if s.literal {
			blocks = literal(s.text)
		} else {
			blocks = parseStretch([]byte(s.text))
		}
		doc.Blocks = appendJoined(doc.Blocks, blocks, s.joined)
	}
	return doc
}

// appendJoined appends the blocks of a stretch. If the cut fell into a
// paragraph, its halves become one again.
func appendJoined(to, blocks []Block, joined bool) []Block {
	if joined && len(to) > 0 && len(blocks) > 0 {
		before, ok := to[len(to)-1].(*Paragraph)
		after, also := blocks[0].(*Paragraph)
		if ok && also {
			before.Inlines = append(append(before.Inlines, Break{Soft: true}), after.Inlines...)
			blocks = blocks[1:]
		}
	}
	return append(to, blocks...)
}

// Literal returns the document of a text without markup: whatever looks like
// markup in it is shown as it stands, line breaks are kept, white space at its
// end goes. It does not block.
func Literal(s string) *Document {
	return &Document{Blocks: literal(strings.ReplaceAll(valid(s), "\r\n", "\n"))}
}

// literal shows text as it stands.
func literal(s string) []Block {
	p := &Paragraph{}
	for line := range strings.Lines(strings.TrimRight(s, " \t\r\n")) {
		if len(p.Inlines) > 0 {
			p.Inlines = append(p.Inlines, Break{Soft: true})
		}
		p.Inlines = append(p.Inlines, Text(strings.TrimRight(line, "\r\n")))
	}
	if len(p.Inlines) == 0 {
		return nil
	}
	return []Block{p}
}

func parseStretch(source []byte) []Block {
	root := sharedParser().Parse(text.NewReader(source))
	c := converter{source: source, used: usedDefinitions(root)}
	return c.blocks(root)
}

// sharedParser is built once; it holds no state between texts.
var sharedParser = sync.OnceValue(func() parser.Parser {
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(fenceParser{}, 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(
		extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList))
	return p
})

// fenceParser is goldmark's view of [codeFence], so that the tree and the
// splitter cannot disagree on what a fence is.
type fenceParser struct{}

var _ parser.BlockParser = fenceParser{}

// fenceNode is a fenced code block that knows its opening line.
type fenceNode struct {
	ast.FencedCodeBlock
	codeFence
	indent int
}

// Trigger is called by goldmark, as are the methods below.
func (fenceParser) Trigger() []byte { return []byte{'`', '~'} }

// Open starts a block if the line opens a fence.
func (fenceParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	f, ok := openFence(string(line[at:]))
	if !ok {
		return nil, parser.NoChildren
	}
	return &fenceNode{codeFence: f, indent: at}, parser.NoChildren
}

// Continue takes the next line of the block.
func (fenceParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	f := node.(*fenceNode)
	line, segment := reader.PeekLine()
	width, at := util.IndentWidth(line, reader.LineOffset())
	if width < 4 && f.closedBy(string(line[at:])) {
		reader.AdvanceToEOL()
		return parser.Close
	}
	at, padding := util.IndentPositionPadding(line, reader.LineOffset(), segment.Padding, f.indent)
	if at < 0 {
		at, padding = max(0, util.FirstNonSpacePosition(line))-segment.Padding, 0
	}
	code := text.NewSegmentPadding(segment.Start+at, segment.Stop, padding)
	code.ForceNewline = true
	f.Lines().Append(code)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// Close ends the block.
func (fenceParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph is true of fences.
func (fenceParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine is false: that would be an indented code block.
func (fenceParser) CanAcceptIndentedLine() bool { return false }
