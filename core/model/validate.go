package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
)

// Interrupted is the text of the result that stands in for one that never
// came: a crash or a stop cut the call short, and what it did is not known.
const Interrupted = "interrupted, effect unknown: check what was done before you call this again"

// Validate reports the first reason why a service could refuse items, nil if
// there is none:
//
//   - the calls of each Assistant item have different ids, which no earlier
//     item uses, and arguments in the form of Arguments;
//   - right after it come the results, one per call, in any order, each with
//     the id and the tool of its call; there are no other results;
//   - no Assistant item is without text and calls, and no other has calls;
//   - all text is valid UTF-8 without NUL.
func Validate(items []Item) error {
	used := make(map[string]bool)
	open := make(map[string]string) // calls without result yet: id to tool
	for n, i := range items {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("transcript item %d (%s): %s", n+1, i.Kind, fmt.Sprintf(format, args...))
		}
		if i.Kind == ToolOutput {
			tool, ok := open[i.CallID]
			if !ok {
				return bad("result of %q without its call right before", i.CallID)
			}
			if tool != i.Tool {
				return bad("result of %q names the tool %q instead of %q", i.CallID, i.Tool, tool)
			}
			delete(open, i.CallID)
		} else if len(open) > 0 {
			return bad("%d calls before it have no result", len(open))
		}
		if isEmpty(i) {
			return bad("neither text nor calls")
		}
		if i.Kind != Assistant && len(i.Calls) > 0 {
			return bad("calls, which only an assistant makes")
		}
		for _, c := range i.Calls {
			if c.ID == "" || used[c.ID] {
				return bad("the call id %q is empty or used twice", c.ID)
			}
			used[c.ID], open[c.ID] = true, c.Name
		}
		if !isClean(i) {
			return bad("text or arguments that cannot be sent")
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last %d calls of the transcript have no result", len(open))
	}
	return nil
}

// Repair returns items in a form that Validate accepts. The turn runs it right
// before each request, after everything that cuts or joins transcripts. Valid
// items come back as they are; items itself is not changed.
//
// A missing result becomes the error result Interrupted; a result that lies
// further behind moves up to its call; one without a call, and all but the
// first of a call, are dropped, like Assistant items that say nothing. A call
// id that is empty or used before is replaced in the call and its result. What
// Repair makes of an item and its results does not change when items are added
// behind them.
func Repair(items []Item) []Item {
	r := repair{used: make(map[string]bool), open: make(map[string][]*slot)}
	for _, i := range items {
		i = cleaned(i)
		if i.Kind != Assistant {
			i.Calls = nil
		}
		switch {
		case i.Kind == ToolOutput:
			r.result(i)
		case isEmpty(i):
		default:
			r.add(i)
		}
	}
	return r.items()
}

// repair sorts items into groups: an item with the results of its calls.
type repair struct {
	groups []*group
	used   map[string]bool
	open   map[string][]*slot // by the id that results carry, oldest call first
}

type group struct {
	item    Item
	slots   []*slot
	results []Item // in the order of their arrival
}

// slot is one call that waits for its result.
type slot struct {
	group  *group
	call   core.ToolCall
	filled bool
}

func (r *repair) add(i Item) {
	g := &group{item: i}
	if len(i.Calls) > 0 {
		g.item.Calls = slices.Clone(i.Calls)
		for _, c := range i.Calls { // an earlier call of the same id gets no result any more
			delete(r.open, c.ID)
		}
	}
	for n := range g.item.Calls {
		call := &g.item.Calls[n]
		written := call.ID
		call.ID = r.fresh(written)
		s := &slot{group: g, call: *call}
		g.slots = append(g.slots, s)
		r.open[written] = append(r.open[written], s)
	}
	r.groups = append(r.groups, g)
}

// fresh returns id, or if it cannot be used, one like it.
func (r *repair) fresh(id string) string {
	free := id
	for n := len(r.used) + 1; free == "" || r.used[free]; n++ {
		free = fmt.Sprintf("%s_%d", id, n)
		if id == "" {
			free = fmt.Sprintf("call_%d", n)
		}
	}
	r.used[free] = true
	return free
}

func (r *repair) result(i Item) {
	waiting := r.open[i.CallID]
	if len(waiting) == 0 {
		return
	}
	s := waiting[0]
	r.open[i.CallID] = waiting[1:]
	s.filled = true
	i.CallID, i.Tool = s.call.ID, s.call.Name
	s.group.results = append(s.group.results, i)
}

func (r *repair) items() []Item {
	var out []Item
	for _, g := range r.groups {
		out = append(append(out, g.item), g.results...)
		for _, s := range g.slots {
			if !s.filled {
				out = append(out, Item{
					Kind: ToolOutput, CallID: s.call.ID, Tool: s.call.Name, Failed: true, Text: Interrupted, At: g.item.At,
				})
			}
		}
	}
	return out
}

func isEmpty(i Item) bool {
	return i.Kind == Assistant && len(i.Calls) == 0 && strings.TrimSpace(i.Text) == ""
}

// isClean reports whether cleaned would leave i as it is.
func isClean(i Item) bool {
	for _, s := range texts(&i) {
		if !clean(*s) {
			return false
		}
	}
	for _, c := range i.Calls {
		if !clean(c.ID) || !clean(c.Name) || string(Arguments(string(c.Args))) != string(c.Args) {
			return false
		}
	}
	return true
}

func clean(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// cleaned returns i with everything replaced that cannot be sent.
func cleaned(i Item) Item {
	if isClean(i) {
		return i
	}
	i.Author, i.Quote, i.Completion = copied(i.Author), copied(i.Quote), copied(i.Completion)
	i.Files = slices.Clone(i.Files)
	for _, s := range texts(&i) {
		*s = Clean(*s)
	}
	i.Calls = slices.Clone(i.Calls)
	for n := range i.Calls {
		c := &i.Calls[n]
		c.ID, c.Name, c.Args = Clean(c.ID), Clean(c.Name), Arguments(string(c.Args))
	}
	return i
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// texts returns the places of all texts of i, but for those of its calls.
func texts(i *Item) []*string {
	t := []*string{&i.Text, &i.Think, &i.MessageID, &i.CallID, &i.Tool}
	if a := i.Author; a != nil {
		t = append(t, &a.ID, &a.Name)
	}
	if q := i.Quote; q != nil {
		t = append(t, &q.ID, &q.Text, &q.Author.ID, &q.Author.Name)
	}
	for n := range i.Files {
		f := &i.Files[n]
		t = append(t, &f.ID, &f.Name, &f.Type, &f.Why, &f.Ref, &f.Text)
	}
	if c := i.Completion; c != nil {
		t = append(t, &c.Source, &c.RunID, &c.TaskID, &c.SessionKey, &c.Label, &c.Task, &c.TaskName,
			(*string)(&c.Status), &c.Detail, &c.Result, &c.Ref, &c.Stats, &c.PostedIn)
	}
	return t
}
