package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
)

// Limits of context files, in characters.
const (
	maxContextFile  = 20_000
	maxContextFiles = 60_000
)

// maxPromptResult is how many bytes of a tool result a prompt carries; the
// transcript keeps the whole.
const maxPromptResult = 32 << 10

// systemPrompt puts the parts of the system prompt together.
func systemPrompt(def Definition, l *kernel.Lease, about string, now time.Time) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(def.Instructions))
	left := maxContextFiles
	for _, f := range def.ContextFiles {
		text := clipChars(f.Text, min(maxContextFile, left))
		left -= utf8.RuneCountInString(text)
		fmt.Fprintf(&b, "\n\n# %s\n\n%s", f.Name, text)
	}
	zone := def.Timezone
	if zone == nil {
		zone = now.Location()
	}
	fmt.Fprintf(&b, "\n\n# Now and here\n\nIt is %s.", now.In(zone).Format("Monday, 2 January 2006, 15:04 MST"))
	if a := l.Turn.ReplyTo; !a.IsZero() {
		fmt.Fprintf(&b, " This conversation is %s on %s", placeKind(l.Session.Kind), a.Channel)
		if l.Session.Title != "" {
			fmt.Fprintf(&b, ", titled %q", l.Session.Title)
		}
		if a.Thread != "" {
			b.WriteString(", in a thread")
		}
		b.WriteString(".")
	}
	b.WriteString("\n\n" + model.Guidance)
	if about != "" {
		b.WriteString("\n\n")
		b.WriteString(about)
	}
	return b.String()
}

// placeKind says what kind of conversation a session has.
func placeKind(kind core.SessionKind) string {
	switch kind {
	case core.SessionMain, core.SessionDirect:
		return "a direct chat"
	case core.SessionGroup:
		return "a group"
	}
	return "a chat"
}

// clipChars cuts s to n characters and says so where it cut.
func clipChars(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(n, 0)]) + "\n[cut here: the file is longer]"
}

// promptItems returns the transcript as a model gets it. What earlier turns
// left is known to be sound; only the rest is looked at.
func (t *turn) promptItems() []model.Item {
	tail := model.Repair(trimForPrompt(t.items[t.sound:]))
	return append(slices.Clip(t.items[:t.sound]), tail...)
}

// trimForPrompt returns the items as a model gets them: long tool results are
// cut, with a note of how much is missing.
func trimForPrompt(items []model.Item) []model.Item {
	var out []model.Item
	for i, item := range items {
		if !overlong(item) {
			continue
		}
		if out == nil {
			out = append([]model.Item(nil), items...)
		}
		out[i] = firstPart(item)
	}
	if out == nil {
		return items
	}
	return out
}

// firstPart is a tool result as a prompt carries it: its first part, how much
// there is, and where the whole of it is kept.
func firstPart(item model.Item) model.Item {
	cut := maxPromptResult
	for cut > 0 && !utf8.RuneStart(item.Text[cut]) {
		cut--
	}
	item.Text = fmt.Sprintf("%s\n[cut here: %d of %d bytes shown. To see more, call the tool for less at a time. The whole is row %d of the transcript, "+
		"which an operator reads with \"skein sessions transcript\"]", item.Text[:cut], cut, len(item.Text), item.Row)
	return item
}

// overlong tells whether a prompt carries only a part of an item.
func overlong(i model.Item) bool { return i.Kind == model.ToolOutput && len(i.Text) > maxPromptResult }
