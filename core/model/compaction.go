package model

import "fmt"

// Compacted is the kind of the item that stands for the older part of a
// history. Its row lies where it was written, behind rows that are still sent:
// of a history the newest one counts, and a prompt begins with it.
const Compacted ItemKind = "compaction"

// Compaction says what a Compacted item stands for; the item's Text is the
// summary, "" where nothing was left out and only long texts were cut.
type Compaction struct {
	// By is how the summary was made: CompactedByModel or CompactedByTrim.
	By string `json:"by"`
	// Rows is how many rows of the transcript it stands for, those of earlier
	// compactions included.
	Rows int `json:"rows"`
	// Before and After are the tokens of the whole prompt, as estimated.
	Before int `json:"before"`
	After  int `json:"after"`
	// Carried are the inputs of the turn in progress that the summary would
	// have taken in: what the turn is about. They follow the summary word for
	// word.
	Carried []Item `json:"carried,omitempty"`
	// MaxResult and MaxText are how many bytes of each tool result, and of each
	// other text, are sent of the rows that are older than this one and not left
	// out; 0 is no limit.
	MaxResult int `json:"maxResult,omitempty"`
	MaxText   int `json:"maxText,omitempty"`
}

// The ways in which a summary is made.
const (
	CompactedByModel = "model"
	CompactedByTrim  = "trim" // the beginnings of what was said, where no model could be asked
)

// renderCompacted is what a model reads of a compaction.
func renderCompacted(i Item) string {
	what := "The older part of this conversation is left out."
	if c := i.Compaction; c != nil && c.Rows > 0 {
		what = fmt.Sprintf("The older part of this conversation, %d entries, is left out.", c.Rows)
	}
	return "[skein:note]\n" + what + " What follows was kept of it; requests in it that nobody withdrew still hold.\n" +
		unmarked(i.Text) + "\n[skein:end]"
}
