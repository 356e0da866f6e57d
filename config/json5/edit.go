package json5

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// bareKey is a key that every reader of JSON5 takes without quotes.
var bareKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// Quote returns text as a JSON string, which is a JSON5 string too.
func Quote(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// Replace returns src with the text of one value exchanged for another; every
// other byte is kept. The node must come from parsing src.
func Replace(src []byte, at *Node, value string) []byte {
	return splice(src, at.Pos.Offset, at.End, value)
}

// Add returns src with one more member at the end of an object; every other
// byte is kept. The new member is written as its neighbours are: on a line of
// its own or behind the last one, with or without a comma after it, its key
// with or without quotes. The object must come from parsing src and must not
// have the key; value is the text of the value.
func Add(src []byte, object *Node, key, value string) []byte {
	a := adder{src: src, object: object}
	if len(object.Members) == 0 {
		return a.first(key, value)
	}
	return a.next(key, value)
}

// Key returns a key as it is written beside the others of an object: in quotes
// if it needs them or if the last one has them.
func Key(src []byte, object *Node, key string) string {
	if last := len(object.Members) - 1; last >= 0 {
		if c := src[object.Members[last].KeyPos.Offset]; c == '"' || c == '\'' {
			return Quote(key)
		}
	}
	if bareKey.MatchString(key) {
		return key
	}
	return Quote(key)
}

func splice(src []byte, from, to int, text string) []byte {
	return slices.Concat(src[:from], []byte(text), src[to:])
}

// adder puts a member into an object.
type adder struct {
	src    []byte
	object *Node
}

// first adds a member to an object that has none; it may hold comments.
func (a adder) first(key, value string) []byte {
	member := Key(a.src, a.object, key) + ": " + value
	end := a.object.End - 1 // the closing bracket
	line := a.lineStart(end)
	inside := a.src[a.object.Pos.Offset+1 : end]
	switch {
	case line > a.object.Pos.Offset && isBlank(a.src[line:end]):
		return splice(a.src, line, line, string(a.src[line:end])+"  "+member+","+a.lineEnd())
	case len(inside) == 0:
		return splice(a.src, end, end, " "+member+" ")
	case isBlank(inside):
		return splice(a.src, a.object.Pos.Offset+1, a.object.Pos.Offset+1, " "+member)
	}
	return splice(a.src, end, end, " "+member+" ")
}

// next adds a member behind the last one.
func (a adder) next(key, value string) []byte {
	last := a.object.Members[len(a.object.Members)-1]
	member := Key(a.src, a.object, key) + ": " + value
	at, hasComma := last.Value.End, false
	if comma := a.skip(at); a.src[comma] == ',' {
		at, hasComma = comma+1, true
	}
	line := a.lineStart(last.KeyPos.Offset)
	indent := a.src[line:last.KeyPos.Offset]
	if line == 0 || !isBlank(indent) || line <= a.object.Pos.Offset {
		if hasComma {
			return splice(a.src, at, at, " "+member+",")
		}
		return splice(a.src, at, at, ", "+member)
	}
	text := a.lineEnd() + string(indent) + member
	behind := a.behindComment(at)
	if hasComma {
		return splice(a.src, behind, behind, text+",")
	}
	return splice(splice(a.src, behind, behind, text), at, at, ",")
}

// skip returns the offset of the first byte that is neither white space nor
// part of a comment.
func (a adder) skip(offset int) int {
	p := parser{src: a.src, pos: Pos{Offset: offset}}
	_ = p.space() // the source was parsed: it has no fault here
	return p.pos.Offset
}

// behindComment returns the end of the line at offset, if only a comment
// stands there, else offset: a comment stays beside what it explains.
func (a adder) behindComment(offset int) int {
	rest := a.src[offset:]
	if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	text := bytes.TrimSpace(rest)
	block := bytes.HasPrefix(text, []byte("/*")) && bytes.Index(text, []byte("*/")) == len(text)-2
	if len(text) == 0 || bytes.HasPrefix(text, []byte("//")) && !bytes.ContainsAny(text, "\u2028\u2029") || block {
		return offset + len(rest)
	}
	return offset
}

// lineStart returns where the line of an offset begins.
func (a adder) lineStart(offset int) int {
	return bytes.LastIndexAny(a.src[:offset], "\r\n") + 1
}

// lineEnd returns the line break that the file uses.
func (a adder) lineEnd() string {
	if bytes.Contains(a.src, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// Delete returns src without one member of an object; every other byte is kept,
// but for the comma and the white space around the member. Comments around it
// stay, those inside it go. The object must come from parsing src; without the key src is returned.
func Delete(src []byte, object *Node, key string) []byte {
	at := slices.IndexFunc(object.Members, func(m *Member) bool { return m.Key == key })
	if at < 0 {
		return src
	}
	a := adder{src: src, object: object}
	from, to := object.Members[at].KeyPos.Offset, object.Members[at].Value.End
	comma := a.skip(to)
	switch {
	case src[comma] == ',' && isBlank(src[to:comma]):
		from, to = a.around(from, comma+1, true)
	case src[comma] == ',':
		src = splice(src, comma, comma+1, "")
		from, to = adder{src: src, object: object}.around(from, to, true)
	default:
		from, to = a.around(from, to, false)
		if at > 0 {
			before := a.skip(object.Members[at-1].Value.End)
			return splice(splice(src, from, to, ""), before, before+1, "")
		}
	}
	return splice(src, from, to, "")
}

// around widens what is deleted: to whole lines where nothing else stands on
// them, else by the white space on one side.
func (a adder) around(from, to int, behind bool) (start, end int) {
	line := a.lineStart(from)
	rest := a.src[to:]
	next := bytes.IndexAny(rest, "\r\n")
	if line > a.object.Pos.Offset && isBlank(a.src[line:from]) && next >= 0 && isBlank(rest[:next]) {
		next++
		if bytes.HasPrefix(rest[next-1:], []byte("\r\n")) {
			next++
		}
		return line, to + next
	}
	if behind {
		return from, len(a.src) - len(bytes.TrimLeft(rest, " \t"))
	}
	return len(bytes.TrimRight(a.src[:from], " \t")), to
}
