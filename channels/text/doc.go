// Package text turns an agent's Markdown into messages that a chat platform
// accepts. Every channel adapter uses it; nothing here knows a platform.
//
// # Pipeline
//
//	Markdown --Parse--> Document --Renderer.Render--> Rendered --SplitRendered--> []Part
//	Markdown ------------------------Split--------------------------------------> []Part
//
// Parse reads Markdown once and gives a tree of a small, closed set of nodes
// (tree.go). A channel's [Renderer] writes that tree in the channel's own
// dialect and says which ranges of its output belong together. The splitter
// cuts the output into parts. A channel that shows Markdown as it is (a
// terminal, a browser) skips the tree and calls [Split].
//
// # Rules of the splitter
//
//   - No part is longer than [Limit.Max] in [Limit.Unit], the fence lines the
//     splitter adds included. The last part leaves [Limit.Reserve] units free.
//     (Only a single rune that is itself longer than Max goes over.)
//   - A cut prefers the end of a paragraph, then of a line, a sentence, a word.
//     It never falls inside a grapheme, an entity, a link or a code span unless
//     that thing alone is longer than a part; emphasis is kept whole when it
//     fits. A grapheme longer than a part is cut between runes.
//   - A fence that is cut is closed with its own marker and opened again with
//     its info string (without it, if the info string takes more than a quarter
//     of a part). A fence the author left open is closed too, so a suffix never
//     lands in a code block. A fence whose own lines leave less than a quarter
//     of a part for code is treated as prose.
//   - Text is preserved: [Join] gives back what was split, byte for byte.
//     Between two parts of prose the white space at the cut belongs to neither
//     message; it is kept in [Part.Gap]. If it holds a newline, it ends after
//     the last one, so the indentation of the next line stays. Inside a fence
//     nothing is left out: the newline before the cut stays in the earlier part.
//   - Time is linear in the text, for any text.
//
// # Limits
//
// A limit is a property of the adapter. Those of the known platforms:
//
//	console, web chat   16000 UTF-16 units
//	Discord              2000 UTF-16 units, 17 lines softly
//	Telegram             4096 UTF-16 units after entity parsing
//	iMessage             4000 UTF-16 units
//
// "After entity parsing" needs nothing special: such a renderer gives the
// visible text as [Rendered.Text], keeps its entities as ranges of it, and cuts
// those to each part by [Part.Start].
//
// # Input
//
// Each run of bytes that is not UTF-8 becomes one U+FFFD before anything else.
// HTML is not markup here: a tag is text like any other. Parse bounds the work
// that hostile text can cause: containers nested deeper than 16 on one line,
// more than 256 brackets in a paragraph and tables wider than 32 columns are
// read literally, and text is parsed in stretches of 16 KiB between blank lines
// (a link definition is seen only in its own stretch; one line longer than that
// is literal).
package text
