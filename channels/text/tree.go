package text

// Document is a parsed message. Everything in it is plain, unescaped, valid
// UTF-8. It is not changed after Parse and may be shared.
type Document struct {
	Blocks []Block
}

// Block is one of [*Paragraph], [*Heading], [*List], [*Quote], [*CodeBlock],
// [*Table] and [*Rule].
type Block interface{ block() }

// Inline is one of [Text], [Code], [*Emphasis], [*Link], [*Image] and [Break].
type Inline interface{ inline() }

type (
	// Paragraph is running text.
	Paragraph struct{ Inlines []Inline }

	// Heading is a title of Level 1 to 6.
	Heading struct {
		Level   int
		Inlines []Inline
	}

	// List is a list of items; numbered from Start if Ordered.
	List struct {
		Ordered bool
		Start   int
		Tight   bool // no blank lines between the items
		Items   []Item
	}

	// Item is one entry of a list.
	Item struct {
		Task   Task
		Blocks []Block
	}

	// Quote is quoted content.
	Quote struct{ Blocks []Block }

	// CodeBlock is fenced or indented code, verbatim. Code ends with a newline
	// unless it is empty; Info is the fence's info string, or empty.
	CodeBlock struct{ Info, Code string }

	// Table holds a header and rows. Rows may be shorter than Header: missing
	// cells are empty.
	Table struct {
		Align  []Align
		Header []Cell
		Rows   [][]Cell
	}

	// Cell is the content of one table cell.
	Cell []Inline

	// Rule is a thematic break.
	Rule struct{}
)

type (
	// Text is literal text without newlines.
	Text string

	// Code is a code span.
	Code string

	// Emphasis is styled text.
	Emphasis struct {
		Style   Style
		Inlines []Inline
	}

	// Link is a hyperlink. Auto marks one whose text is the URL itself.
	Link struct {
		URL, Title string
		Auto       bool
		Inlines    []Inline
	}

	// Image is a picture by URL; Inlines is its alternative text.
	Image struct {
		URL, Title string
		Inlines    []Inline
	}

	// Break is a line break inside a paragraph. Soft ones are those the author
	// wrote as a bare newline; chat shows both alike.
	Break struct{ Soft bool }
)

// Task is the check box of a list item.
type Task uint8

// The states of a check box.
const (
	NoTask Task = iota
	TaskOpen
	TaskDone
)

// Style is a kind of emphasis.
type Style uint8

// The styles of [Emphasis].
const (
	Italic Style = iota
	Bold
	Strike
)

// Align is the alignment of a table column.
type Align uint8

// The alignments of a column.
const (
	AlignNone Align = iota
	AlignLeft
	AlignCenter
	AlignRight
)

func (*Paragraph) block() {}
func (*Heading) block()   {}
func (*List) block()      {}
func (*Quote) block()     {}
func (*CodeBlock) block() {}
func (*Table) block()     {}
func (*Rule) block()      {}

func (Text) inline()      {}
func (Code) inline()      {}
func (*Emphasis) inline() {}
func (*Link) inline()     {}
func (*Image) inline()    {}
func (Break) inline()     {}
