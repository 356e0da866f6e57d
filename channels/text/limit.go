package text

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Unit is what a platform counts when it measures a message.
type Unit uint8

const (
	// UTF16 counts UTF-16 code units, the zero value: Discord, Telegram, the
	// console, the web chat, iMessage.
	UTF16 Unit = iota
	// Bytes counts bytes of UTF-8: Matrix.
	Bytes
	// Runes counts Unicode code points.
	Runes
	// Graphemes counts what a reader sees as one character.
	Graphemes
)

// String gives the unit's name, for messages to people.
func (u Unit) String() string {
	switch u {
	case Bytes:
		return "bytes"
	case Runes:
		return "runes"
	case Graphemes:
		return "graphemes"
	default:
		return "UTF-16 units"
	}
}

// Measure gives the length of s in the unit. It does not block.
func (u Unit) Measure(s string) int {
	switch u {
	case Bytes:
		return len(s)
	case Runes:
		return utf8.RuneCountInString(s)
	case Graphemes:
		return uniseg.GraphemeClusterCount(s)
	default:
		n := 0
		for _, r := range s {
			n += runeCost(UTF16, r)
		}
		return n
	}
}

// runeCost is the length of one rune in u; for Graphemes the caller counts.
func runeCost(u Unit, r rune) int {
	switch {
	case u == Bytes:
		return utf8.RuneLen(r)
	case u == UTF16 && r > 0xFFFF:
		return 2
	default:
		return 1
	}
}

// DefaultMax stands for a limit that is not set: the smallest of the supported
// platforms, so that a forgotten limit makes short messages, not refused ones.
const DefaultMax = 2000

// Limit says how long a message may be. It is a property of the adapter.
type Limit struct {
	// Max is the length of a part in Unit. Less than 1 means [DefaultMax].
	Max int
	// Unit is what Max and Reserve count; [UTF16] by default.
	Unit Unit
	// SoftLines is the wanted number of lines of a part, the fence lines the
	// splitter adds included; 0 means any. It is exceeded only where a part
	// could not hold any text otherwise.
	SoftLines int
	// Reserve is kept free in the last part for a suffix, in Unit. If nothing
	// else leaves that room, the last part is empty.
	Reserve int
}

func (l Limit) max() int {
	if l.Max < 1 {
		return DefaultMax
	}
	return l.Max
}
