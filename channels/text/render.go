package text

// Renderer writes a document in the dialect of one channel. Adapters call it
// for every outgoing message, before the splitter. It must be pure and must not
// fail: what the channel cannot show is written so that it can still be read.
// A renderer also keeps mentions neutral where its channel has any; plain text
// has none.
type Renderer interface {
	Render(*Document) Rendered
}

// Rendered is the output of a renderer: the text as the platform counts it
// (after entity parsing, for platforms that parse entities) and the ranges that
// a cut should respect. All offsets are bytes of Text.
type Rendered struct {
	Text string
	// Keep lists ranges that stay in one part if they can, sorted by Start.
	Keep []Range
	// Fences lists the code blocks, sorted and disjoint.
	Fences []Fence
}

// Range is a stretch of text that belongs together: a link, an entity, a code
// span. A Soft range (emphasis) is given up for less: where it does not fit, it
// is cut between words.
type Range struct {
	Start, End int
	Soft       bool
}

// Fence is a code block in rendered text. It may be cut anywhere in its body;
// the part before the cut then ends with Close, the part after it starts with
// Open. Both are empty where a code block needs no marks in the text.
type Fence struct {
	// Start is where the opening line begins, Body where the code begins,
	// BodyEnd where the closing line begins, End where its marker ends (before
	// the newline). Without a closing line End equals BodyEnd.
	Start, Body, BodyEnd, End int
	// Open is the line that opens the block again, with its newline. Bare is
	// the same without the info string, for when that is too long.
	Open, Bare string
	// Line is put before the rest of a line that was cut (a quote's marker).
	Line string
	// Close is the line that closes the block, without a newline.
	Close string
}

// closed reports whether the text itself closes the fence.
func (f *Fence) closed() bool { return f.End > f.BodyEnd }
