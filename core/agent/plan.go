package agent

import (
	"slices"

	"github.com/skein-bot/skein/core/model"
)

// plan is how a history is made shorter.
type plan struct {
	// cut is the first entry that stays; those before it are summarised. 0 is
	// to leave nothing out and only to cut long texts.
	cut     int
	carried []model.Item
	// maxResult and maxText limit the texts of what stays, in bytes.
	maxResult, maxText int
	// after estimates what is sent then, with a summary of full length.
	after int
}

// budget is what a history may be, in tokens as estimated.
type budget struct {
	goal    int // at most so much should be sent
	keep    int // of which the last turns, word for word
	summary int // and the summary
}

// stage is a way to make a history shorter.
type stage struct {
	// keep is how much of the budget for the last turns is used, in percent.
	// With 0 only what the model must answer to stays.
	keep int
	// maxResult limits tool results, in bytes, and maxText other texts, in
	// percent of what everything together may have; 0 is no limit.
	maxResult, maxText int
}

// stages are the ways to make a history shorter, the mildest first.
var stages = []stage{
	{keep: 100},
	{keep: 100, maxResult: 4096},
	{keep: 100, maxResult: 4096, maxText: 50},
	{keep: 50, maxResult: 1024, maxText: 20},
	{keep: 0, maxResult: 512, maxText: 8},
	{keep: 0, maxResult: 256, maxText: 2},
}

// minText is the least that a text is cut to, in bytes.
const minText = 512

// textLimit is maxText in bytes, where everything together may have room
// tokens.
func (s stage) textLimit(room int) int {
	if s.maxText == 0 {
		return 0
	}
	return max(room*4*s.maxText/100, minText)
}

// plan finds the mildest way that reaches the goal, else the one that leaves
// least. ok is false where none is worth while: a compaction that makes little
// shorter would only be paid for again at the next step.
func (h history) plan(turn int64, b budget) (best plan, ok bool) {
	if len(h.entries) == 0 {
		return plan{}, false
	}
	before := itemsTokens(h.items())
	for _, s := range stages {
		p := h.stage(turn, b, b.keep*s.keep/100, s.maxResult, s.textLimit(b.goal))
		if !ok || p.after < best.after {
			best, ok = p, true
		}
		if best.after <= b.goal {
			break
		}
	}
	return best, before-best.after >= max(before/20, 1)
}

// stage is the plan that keeps the last turns up to keep tokens.
func (h history) stage(turn int64, b budget, keep, maxResult, maxText int) plan {
	p := plan{cut: h.cutAt(keep), maxResult: maxResult, maxText: maxText}
	if dropped := sumSizes(h.entries[:p.cut]); dropped <= b.summary+b.summary/5 {
		p.cut = 0 // the summary would be as long as what it stands for
	}
	if c := h.compaction(); h.entries[p.cut].row < h.headRow() { // its limits go on for what it cut
		p.maxResult, p.maxText = tighter(p.maxResult, c.MaxResult), tighter(p.maxText, c.MaxText)
	}
	p.carried = h.carry(turn, p, b.keep)
	p.after = itemsTokens(p.carried)
	switch {
	case p.cut > 0:
		p.after += b.summary
	case h.head != nil && h.head.Text != "":
		p.after += itemTokens(*h.head)
	}
	for _, e := range h.entries[p.cut:] {
		p.after += e.limited(p.maxResult, p.maxText).size
	}
	return p
}

func sumSizes(entries []entry) (n int) {
	for _, e := range entries {
		n += e.size
	}
	return n
}

// tighter returns the smaller limit, of which 0 is none.
func tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// cutAt returns the first entry that stays where the last ones may have keep
// tokens: the start of a turn if one is near enough to the end, else the first
// place inside the last turn where no call is separated from its result, at
// worst the last such place.
func (h history) cutAt(keep int) int {
	legal := h.legalCuts()
	last := legal[len(legal)-1]
	inTurn, turnStart, size := last, -1, 0
	for i := len(h.entries) - 1; i >= 0; i-- {
		if size += h.entries[i].size; size > keep {
			break
		}
		if _, ok := slices.BinarySearch(legal, i); !ok {
			continue
		}
		inTurn = i
		if i == 0 || h.entries[i-1].turn != h.entries[i].turn {
			turnStart = i
		}
	}
	if turnStart >= 0 {
		return turnStart
	}
	return inTurn
}

// legalCuts returns before which entries a history may be cut, in order: where
// every result before has its call before, and behind its call behind, and the
// rows of both parts are apart. The start is one always.
func (h history) legalCuts() []int {
	n := len(h.entries)
	bound := make([]bool, n) // may not be parted from what is before
	calls := make(map[string]int)
	for i, e := range h.entries {
		for _, c := range e.item.Calls {
			calls[c.ID] = i
		}
		if e.item.Kind != model.ToolOutput {
			continue
		}
		bound[i] = true
		if at, ok := calls[e.item.CallID]; ok {
			for j := at + 1; j < i; j++ {
				bound[j] = true
			}
		}
	}
	least := make([]int64, n+1) // the smallest row from there on
	least[n] = int64(^uint64(0) >> 1)
	for i := n - 1; i >= 0; i-- {
		least[i] = min(least[i+1], h.entries[i].row)
	}
	cuts := []int{0}
	most := int64(0)
	for i := 1; i < n; i++ {
		most = max(most, h.entries[i-1].row)
		if !bound[i] && most < least[i] {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

// maxCarried is how much of one input is carried over a summary, in bytes.
const maxCarried = 4096

// carry returns the inputs of the turn in progress that p leaves out, because
// the turn is about them: the first ones, and the last one, up to limit tokens.
func (h history) carry(turn int64, p plan, limit int) (out []model.Item) {
	if p.cut == 0 && h.headTurn != turn {
		return h.compaction().Carried
	}
	var inputs []model.Item
	if h.headTurn == turn {
		inputs = append(inputs, h.compaction().Carried...)
	}
	for _, e := range h.entries[:p.cut] {
		if e.turn == turn && (e.item.Kind == model.User || e.item.Kind == model.Event) {
			inputs = append(inputs, e.item)
		}
	}
	size := 0
	for n, i := range inputs {
		i = capped(i, 0, tighter(maxCarried, p.maxText))
		s := itemTokens(i)
		if size+s > limit && n > 0 && n < len(inputs)-1 {
			continue
		}
		size += s
		out = append(out, i)
	}
	return out
}
