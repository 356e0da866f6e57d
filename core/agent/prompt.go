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

// systemPrompt puts the parts of the system prompt together: what the operator
// wrote, how to read marks and use tools, when and where the turn is, and about,
// which says whether the place is bound and which sub-agents there are. What
// changes from turn to turn comes last, so that services can keep what they
// have read of the rest.
func systemPrompt(def Definition, l *kernel.Lease, about string, now time.Time) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(def.Instructions))
	contextFiles(&b, def.ContextFiles, l.Session.Depth > 0)
	b.WriteString("\n\n" + model.Guidance)
	fmt.Fprintf(&b, "\n\n# Now and here\n\nIt is %s.%s", dateTime(now, def.Timezone), here(l))
	if about != "" {
		b.WriteString("\n\n")
		b.WriteString(about)
	}
	return b.String()
}

// contextFiles writes the context files up to their limits. A sub-agent does not
// get those that make the agent a person.
func contextFiles(b *strings.Builder, files []ContextFile, child bool) {
	left := maxContextFiles
	for _, f := range files {
		if child && f.Persona {
			continue
		}
		if left == 0 {
			fmt.Fprintf(b, "\n\n# %s\n\n[left out: the context files together are longer than %d characters]", f.Name, maxContextFiles)
			continue
		}
		limit := min(maxContextFile, left)
		left -= min(utf8.RuneCountInString(f.Text), limit)
		fmt.Fprintf(b, "\n\n# %s\n\n%s", f.Name, clipChars(f.Text, limit))
	}
}

// dateTime writes the time in a zone, nil being the host's, with the zone's
// abbreviation, name and offset.
func dateTime(now time.Time, zone *time.Location) string {
	if zone != nil {
		now = now.In(zone)
	}
	text := now.Format("Monday, 2 January 2006, 15:04 MST")
	if now.Location() == time.UTC {
		return text
	}
	offset := now.Format("UTC-07:00")
	if name := now.Location().String(); name != "Local" {
		offset = name + ", " + offset
	}
	return text + " (" + offset + ")"
}

// here says where the conversation is. A title is what people wrote, so it
// stands in quotation marks.
func here(l *kernel.Lease) string {
	a := l.Turn.ReplyTo
	if a.IsZero() {
		return " This is work in the background, in no conversation."
	}
	var b strings.Builder
	fmt.Fprintf(&b, " This conversation is %s on %s", placeKind(l.Session.Kind, a.Thread != ""), a.Channel)
	if l.Session.Title != "" {
		fmt.Fprintf(&b, ", titled %q", core.Clip(l.Session.Title, maxTitle))
	}
	b.WriteString(".")
	return b.String()
}

// maxTitle is how much of a title a prompt shows, in characters.
const maxTitle = 120

// placeKind says what kind of conversation a session has.
func placeKind(kind core.SessionKind, thread bool) string {
	place := "a chat"
	switch kind {
	case core.SessionMain, core.SessionDirect:
		place = "a direct chat"
	case core.SessionGroup:
		place = "a group"
	}
	if thread {
		return "a thread of " + place
	}
	return place
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
