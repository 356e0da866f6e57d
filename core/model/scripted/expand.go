package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/skein-bot/skein/core/model"
)

// newest is what the newest item of a request offers to patterns.
type newest struct {
	kind     model.ItemKind // "" for a request without items
	tool     string
	headline string   // what the default answer repeats
	texts    []string // tried in this order; the first is the item's own text
}

// newestOf returns the newest item that is no note. Of a request with only
// notes it is the last note, which no pattern matches.
func newestOf(items []model.Item) newest {
	for i := len(items) - 1; i >= 0; i-- {
		if item := items[i]; item.Kind != model.Note {
			n := newest{kind: item.Kind, tool: item.Tool, headline: model.Headline(item), texts: []string{model.Text(item)}}
			if item.Kind == model.Event {
				n.addBatch(items[:i])
			}
			return n
		}
	}
	if len(items) == 0 {
		return newest{texts: []string{""}}
	}
	note := items[len(items)-1].Text
	return newest{kind: model.Note, headline: note, texts: []string{note}}
}

// addBatch adds the text of the whole batch where completions came right
// before this one.
func (n *newest) addBatch(before []model.Item) {
	batch := n.texts[0]
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Kind == model.Note {
			continue
		}
		if before[i].Kind != model.Event {
			break
		}
		batch = model.Text(before[i]) + "\n\n" + batch
	}
	if batch != n.texts[0] {
		n.texts = append(n.texts, batch)
	}
}

func (n newest) match(kind model.ItemKind, re *regexp.Regexp) (groups, bool) {
	if n.kind != kind {
		return nil, false
	}
	for _, text := range n.texts {
		if m := re.FindStringSubmatch(text); m != nil {
			return m, true
		}
	}
	return nil, false
}

// groups are the texts of $0, $1 and so on.
type groups []string

var reference = regexp.MustCompile(`\$?\$(?:(\d)|\{(\d+)\})`)

// expand replaces the references in s.
func (g groups) expand(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		n := 0
		for _, digit := range strings.Trim(ref, "${}") {
			n = min(n*10+int(digit-'0'), len(g))
		}
		if n >= len(g) {
			return ref
		}
		return g[n]
	})
}

// arguments returns args with all its strings expanded, as JSON.
func (g groups) arguments(args any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(g.expandValue(args)) // made by a decoder, so it encodes
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (g groups) expandValue(v any) any {
	switch v := v.(type) {
	case string:
		return g.expand(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = g.expandValue(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = g.expandValue(value)
		}
		return out
	}
	return v
}
