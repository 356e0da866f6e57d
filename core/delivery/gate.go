package delivery

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Gate is the outbound gate: what it returns may be shown to people. Post runs
// every text through it, so no adapter and no caller has to.
//
//   - A text that is nothing but NO_REPLY (in any case) or ANNOUNCE_SKIP becomes
//     empty. Inside a longer text the words stay.
//   - Reasoning (<think> and its like) goes, with what is in it, and so does what
//     a memory put around a message (<relevant-memories>). An opening tag that is
//     never closed counts only at the head of the text.
//   - Tool calls written out as XML and the special tokens of model templates go.
//   - What the runtime wrote for a model, marked with "[skein:", goes; code is no
//     exception.
//   - NUL and what is not UTF-8 become U+FFFD.
//
// Tags inside code spans and code blocks stay: there they are quoted. A text
// that has none of all this is returned as it is, unless it is blank: then it
// is empty. Gate is pure, idempotent, and takes time linear in text.
func Gate(text string) string {
	text = valid(text)
	if strings.ContainsAny(text, "<[") {
		text = strip(text)
	}
	if s := strings.TrimSpace(text); s == "" || strings.EqualFold(s, "NO_REPLY") || s == "ANNOUNCE_SKIP" {
		return ""
	}
	return text
}

func valid(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return text
}

// maxRounds bounds how often strip starts again. What is removed can join what
// stood around it into a new tag, which only happens on purpose.
const maxRounds = 4

func strip(text string) string {
	for range maxRounds {
		next := stripMarks(stripTags(text))
		if next == text {
			return text
		}
		text = next
	}
	return defuse(text)
}

// defuse makes every tag and mark unreadable as such without removing it.
func defuse(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if _, ok := parseTag(text, i); ok {
			b.WriteString("‹")
			continue
		}
		if text[i] == '[' {
			if _, ok := parseMark(text, i); ok {
				b.WriteByte('(')
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// eraser copies a text without the ranges that are cut out of it. Around a cut
// it leaves the white space that the larger of both sides had.
type eraser struct {
	text string
	out  strings.Builder
	kept int // up to here text is copied or cut
}

func (e *eraser) cut(start, end int) {
	left := strings.TrimRight(e.text[e.kept:start], " \t\r\n")
	space := e.text[e.kept+len(left) : start]
	e.out.WriteString(left)
	run := len(e.text[end:]) - len(strings.TrimLeft(e.text[end:], " \t\r\n"))
	after := e.text[end : end+run]
	if last := strings.LastIndexByte(after, '\n'); last >= 0 {
		after = after[:last+1] // the indent of the next line stays
	}
	e.kept = end + len(after)
	switch lines := max(strings.Count(space, "\n"), strings.Count(after, "\n")); {
	case e.out.Len() == 0 || e.kept == len(e.text):
	case lines > 0:
		e.out.WriteString("\n\n"[:min(lines, 2)])
	case space != "" || after != "":
		e.out.WriteByte(' ')
	}
}

func (e *eraser) String() string {
	if e.kept == 0 && e.out.Len() == 0 {
		return e.text
	}
	e.out.WriteString(e.text[e.kept:])
	return e.out.String()
}

// A mark is how core/model renders what the runtime says: "[skein:name ...]".
type mark struct {
	start, colon, end int // of "[skein:name"
	name              string
}

// parseMark reads the start of the mark at offset i of text; like core/model it
// looks through case, white space and invisible characters.
func parseMark(text string, i int) (mark, bool) {
	rest := strings.TrimLeftFunc(text[i+1:], blank)
	if len(rest) < len("skein") || !strings.EqualFold(rest[:len("skein")], "skein") {
		return mark{}, false
	}
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(rest[len("skein"):], blank), ":")
	if !ok {
		return mark{}, false
	}
	word := strings.TrimLeftFunc(rest, blank)
	n := 0
	for n < len(word) && n < maxName && (word[n] == '-' || word[n]|0x20 >= 'a' && word[n]|0x20 <= 'z') {
		n++
	}
	return mark{start: i, colon: len(text) - len(rest), end: len(text) - len(word) + n, name: strings.ToLower(word[:n])}, true
}

// maxName is the longest name of a mark in bytes.
const maxName = 32

func blank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

func findMarks(text string) (marks []mark) {
	for i := 0; i < len(text); i++ {
		next := strings.IndexByte(text[i:], '[')
		if next < 0 {
			break
		}
		i += next
		if m, ok := parseMark(text, i); ok {
			marks = append(marks, m)
		}
	}
	return marks
}

// stripMarks removes what core/model.Render puts around and between the texts
// of people: a block up to its end mark (without one up to the next blank
// line), any other mark up to its bracket.
func stripMarks(text string) string {
	e := eraser{text: text}
	marks := findMarks(text)
	for i, k := 0, 0; i < len(marks); i++ {
		m := marks[i]
		if m.start < e.kept {
			continue // inside a block
		}
		rest := text[m.end:]
		if m.name != "event" && m.name != "note" {
			if n := bracket(rest); n > 0 {
				e.cut(m.start, m.end+n)
			} else {
				e.cut(m.start, m.colon)
			}
			continue
		}
		for k = max(k, i); k < len(marks) && marks[k].name != "end"; k++ {
		}
		if k < len(marks) {
			end := marks[k].end
			e.cut(m.start, end+bracket(text[end:]))
			continue
		}
		block, _, _ := strings.Cut(rest, "\n\n")
		e.cut(m.start, m.end+len(block))
	}
	return e.String()
}

// bracket returns the length of the rest of a mark: up to the "]" that ends its
// line, else up to the first one of the line, else nothing.
func bracket(rest string) int {
	line, _, _ := strings.Cut(rest[:min(len(rest), maxMark)], "\n")
	if strings.HasPrefix(line, "]") {
		return 1
	}
	if trimmed := strings.TrimRight(line, " \t\r"); strings.HasSuffix(trimmed, "]") {
		return len(trimmed)
	}
	return strings.IndexByte(line, ']') + 1
}

// maxMark is the longest mark in bytes.
const maxMark = 4096

// tag is one tag of a model's own notation.
type tag struct {
	name    string // lower case
	kind    tagKind
	closing bool
	end     int // offset behind it
}

type tagKind int

const (
	tagThink tagKind = iota + 1 // around reasoning, and around memories
	tagTool                     // around a tool call or its result
	tagToken                    // stands for itself
)

func kindOf(name string) tagKind {
	switch name {
	case "think", "thinking", "thought", "thoughts", "reasoning", "antthinking",
		"relevant-memories", "relevant_memories", "memory-context", "memory_context", "memories":
		return tagThink
	case "tool_call", "tool_calls", "tool_use", "tool_result", "tool_results", "tool_response", "tool_code",
		"function_call", "function_calls", "function_result", "function_results", "invoke", "function=":
		return tagTool
	}
	return 0
}

// maxTag is the longest tag in bytes that is looked at, attributes included.
const maxTag = 400

// parseTag reads the tag at offset i of text.
func parseTag(text string, i int) (tag, bool) {
	if text[i] != '<' {
		return tag{}, false
	}
	s := text[i+1 : min(len(text), i+maxTag)]
	if strings.HasPrefix(s, "|") || strings.HasPrefix(s, "｜") {
		return parseToken(s, i+1)
	}
	closing := strings.HasPrefix(s, "/")
	if closing {
		s = s[1:]
	}
	stop := strings.IndexAny(s, "<>\n")
	if stop < 0 || s[stop] != '>' {
		return tag{}, false
	}
	end := len(text[:i+1]) + stop + 1
	if closing {
		end++
	}
	name := strings.ToLower(s[:stop])
	if k := strings.IndexAny(name, " \t/="); k >= 0 {
		if name[k] == '=' {
			k++
		}
		name = name[:k]
	}
	name = strings.TrimPrefix(name, "antml:")
	if name == "function" && closing {
		name = "function="
	}
	kind := kindOf(name)
	return tag{name, kind, closing, end}, kind != 0
}

// parseToken reads a special token such as <|im_end|> behind its "<"; s starts
// at offset at of the text. Tokens that begin and end tool calls are a pair.
func parseToken(s string, at int) (tag, bool) {
	bar := "|"
	if !strings.HasPrefix(s, bar) {
		bar = "｜"
	}
	name, _, ok := strings.Cut(s[len(bar):], bar+">")
	if !ok || name == "" || strings.ContainsAny(name, " \t\r\n<>|") {
		return tag{}, false
	}
	t := tag{name: strings.ToLower(name), kind: tagToken, end: at + len(name) + 2*len(bar) + 1}
	if !strings.Contains(t.name, "tool") {
		return t, true
	}
	if base, ok := strings.CutSuffix(t.name, "begin"); ok {
		t.name, t.kind = base, tagTool
	} else if base, ok := strings.CutSuffix(t.name, "end"); ok {
		t.name, t.kind, t.closing = base, tagTool, true
	}
	return t, true
}

// tagScanner walks over a text once and cuts out tags with what they enclose.
type tagScanner struct {
	eraser
	open map[string]bool // names that are known not to be closed any more
}

func stripTags(text string) string {
	s := tagScanner{eraser: eraser{text: text}, open: make(map[string]bool)}
	for pos := 0; pos < len(text); {
		i := strings.IndexAny(text[pos:], "<`~")
		if i < 0 {
			break
		}
		pos += i
		if text[pos] != '<' {
			pos = skipCode(text, pos)
			continue
		}
		t, ok := parseTag(text, pos)
		if !ok {
			pos++
			continue
		}
		pos = s.tag(t, pos)
	}
	return s.String()
}

// tag handles the tag at start and returns where to go on.
func (s *tagScanner) tag(t tag, start int) int {
	switch {
	case t.kind == tagToken:
		s.cut(start, t.end)
	case t.closing && t.kind == tagTool:
		s.cut(start, t.end)
	case t.closing:
		if endOfLine(s.text, t.end) { // the server kept the opening tag to itself
			s.out.Reset()
			s.kept = 0
			s.cut(0, t.end)
		}
	default:
		if end := s.close(t); end > 0 {
			s.cut(start, end)
			return end
		}
		if s.torn(t, start) {
			s.cut(start, len(s.text))
			return len(s.text)
		}
	}
	return t.end
}

// maxOpen bounds the searches for tags that never close.
const maxOpen = 32

// close returns the offset behind the tag that closes t, 0 if there is none.
// Where tags are closed less often than they are opened the last one counts.
func (s *tagScanner) close(t tag) int {
	if s.open[t.name] || len(s.open) >= maxOpen {
		return 0
	}
	depth, last := 1, 0
	for pos := t.end; pos < len(s.text); {
		i := strings.IndexByte(s.text[pos:], '<')
		if i < 0 {
			break
		}
		pos += i
		u, ok := parseTag(s.text, pos)
		if !ok {
			pos++
			continue
		}
		pos = u.end
		if u.name != t.name {
			continue
		}
		if !u.closing {
			depth++
			continue
		}
		if last, depth = u.end, depth-1; depth == 0 {
			return last
		}
	}
	s.open[t.name] = true
	return last
}

// torn reports whether an opening tag without its end starts something that
// broke off: reasoning at the head of the text, or a tool call.
func (s *tagScanner) torn(t tag, start int) bool {
	if t.kind == tagThink {
		return s.out.Len() == 0 && strings.TrimSpace(s.text[s.kept:start]) == ""
	}
	before := strings.TrimRight(s.text[:start], " \t")
	rest := strings.TrimLeft(s.text[t.end:], " \t\r\n")
	return before == "" || strings.HasSuffix(before, "\n") || rest != "" && strings.IndexByte("{[<", rest[0]) >= 0
}

func endOfLine(text string, i int) bool {
	rest := strings.TrimLeft(text[i:], " \t\r")
	return rest == "" || rest[0] == '\n'
}

// maxSpan is the longest code span in bytes; an odd backtick protects nothing
// beyond it.
const maxSpan = 4096

// skipCode returns the offset behind the code that starts with the run of
// backticks or tildes at i, or behind the run if it starts none.
func skipCode(text string, i int) int {
	run := i + len(text[i:]) - len(strings.TrimLeft(text[i:], text[i:i+1]))
	n := run - i
	if n >= 3 {
		if before := strings.TrimRight(text[max(0, i-4):i], " "); before == "" && i <= 3 || strings.HasSuffix(before, "\n") {
			return skipFence(text, run, text[i], n)
		}
	}
	if text[i] == '~' {
		return run
	}
	within := text[run:min(len(text), run+maxSpan)]
	if blank := strings.Index(within, "\n\n"); blank >= 0 {
		within = within[:blank]
	}
	for pos := 0; pos < len(within); {
		k := strings.IndexByte(within[pos:], '`')
		if k < 0 {
			break
		}
		pos += k
		length := len(within[pos:]) - len(strings.TrimLeft(within[pos:], "`"))
		if pos += length; length == n {
			return run + pos
		}
	}
	return run
}

// skipFence returns the offset behind the code block whose opening run of n
// marks ends at pos. A block that is never closed reaches to the end.
func skipFence(text string, pos int, mark byte, n int) int {
	for pos < len(text) {
		nl := strings.IndexByte(text[pos:], '\n')
		if nl < 0 {
			break
		}
		pos += nl + 1
		line, _, _ := strings.Cut(text[pos:], "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		marks := len(line[indent:]) - len(strings.TrimLeft(line[indent:], string(rune(mark))))
		if indent <= 3 && marks >= n && strings.TrimSpace(line[indent+marks:]) == "" {
			return pos + len(line)
		}
	}
	return len(text)
}
