package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanRanges finds what belongs together in Markdown prose: links, images,
// URLs, code spans and entities, and emphasis as soft ranges. It errs on the
// side of keeping together, reads every byte a bounded number of times whatever
// the text, and needs no tree: positions in the source are all that counts.
func scanRanges(text string, fences []Fence) []Range {
	s := rangeScanner{text: text}
	at := 0
	for i := range fences {
		s.prose(at, fences[i].Start)
		at = fences[i].End
	}
	s.prose(at, len(text))
	all := slices.Concat(s.hard, s.soft)
	slices.SortStableFunc(all, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// rangeScanner walks prose once. Its stacks are emptied at each blank line,
// where every inline construct ends.
type rangeScanner struct {
	text       string
	hard, soft []Range

	brackets []int       // open '['
	parens   []int       // open '(': where the link it ends began, or -1
	styles   [4][3]int   // position+1 of the last opener: "*_~|" by run length 1..3
	ticks    map[int]int // last position of each length of backtick run, by paragraph
}

const styleChars = "*_~|"

func (s *rangeScanner) prose(from, to int) {
	s.reset()
	for i := from; i < to; {
		next := i + 1
		switch c := s.text[i]; c {
		case '\n':
			if lineBlank(s.text[i+1 : to]) {
				s.reset()
			}
		case '\\':
			if i+1 < to && s.text[i+1] != '\n' {
				next = i + 2
			}
		case '`':
			next = s.code(i, to)
		case '<':
			next = s.angle(i, to)
		case '&':
			next = s.entity(i, to)
		case 'h':
			next = s.url(i, to)
		case '[':
			s.brackets = append(s.brackets, i)
		case ']':
			next = s.bracket(i, to)
		case '(':
			s.parens = append(s.parens, -1)
		case ')':
			s.paren(i)
		case '*', '_', '~', '|':
			next = s.style(i, to)
		}
		i = next
	}
}

// reset forgets what is open: a paragraph begins.
func (s *rangeScanner) reset() {
	s.brackets, s.parens, s.ticks = s.brackets[:0], s.parens[:0], nil
	s.styles = [4][3]int{}
}

// lineBlank reports whether the first line of s is blank.
func lineBlank(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}

// keep adds a hard range and swallows those it overlaps.
func (s *rangeScanner) keep(start, end int) {
	for n := len(s.hard); n > 0 && s.hard[n-1].End > start; n-- {
		start = min(start, s.hard[n-1].Start)
		s.hard = s.hard[:n-1]
	}
	s.hard = append(s.hard, Range{Start: start, End: end})
}

// code reads a code span. The table of backtick runs makes a search that would
// fail free, so that hostile runs cost no more than others.
func (s *rangeScanner) code(i, to int) int {
	n := runLength(s.text[i:to])
	if s.ticks == nil {
		s.ticks = s.tickRuns(i, to)
	}
	if s.ticks[n] <= i {
		return i + n
	}
	for j := i + n; j < to; {
		if s.text[j] != '`' {
			j++
			continue
		}
		m := runLength(s.text[j:to])
		j += m
		if m == n {
			s.keep(i, j)
			return j
		}
	}
	return i + n
}

// tickRuns notes where each length of backtick run occurs last in a paragraph.
func (s *rangeScanner) tickRuns(i, to int) map[int]int {
	runs := make(map[int]int)
	for i < to {
		switch s.text[i] {
		case '`':
			n := runLength(s.text[i:to])
			runs[n] = i
			i += n
			continue
		case '\n':
			if lineBlank(s.text[i+1 : to]) {
				return runs
			}
		}
		i++
	}
	return runs
}

// angle reads <https://...>, <@123> and everything else in angle brackets that
// has no blank in it.
func (s *rangeScanner) angle(i, to int) int {
	for j := i + 1; j < to; j++ {
		switch s.text[j] {
		case '>':
			s.keep(i, j+1)
			return j + 1
		case ' ', '\t', '\n', '<', '`':
			return i + 1
		}
	}
	return i + 1
}

// entity reads a character reference.
func (s *rangeScanner) entity(i, to int) int {
	if n := entityLength(s.text[i:to]); n > 0 {
		s.keep(i, i+n)
		return i + n
	}
	return i + 1
}

// entityLength is the length of what looks like a character reference at the
// start of s, or 0.
func entityLength(s string) int {
	const longest = len("&CounterClockwiseContourIntegral;")
	for j := 1; j < min(len(s), longest); j++ {
		switch c := s[j]; {
		case c == ';' && j > 1:
			return j + 1
		case c == '#' && j == 1, c < utf8.RuneSelf && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))):
		default:
			return 0
		}
	}
	return 0
}

// url reads a bare http or https URL.
func (s *rangeScanner) url(i, to int) int {
	rest := s.text[i:to]
	if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
		return i + 1
	}
	depth, j := 0, i
scan:
	for ; j < to; j++ {
		switch s.text[j] {
		case '(':
			depth++
		case ')':
			depth--
			if depth < 0 {
				break scan
			}
		case ' ', '\t', '\r', '\n', '<', '>', ']', '`', '"', '|':
			break scan
		}
	}
	s.keep(i, j)
	return j
}

// bracket reads ']': the text of a link ends, if a target follows.
func (s *rangeScanner) bracket(i, to int) int {
	n := len(s.brackets)
	if n == 0 {
		return i + 1
	}
	start := s.brackets[n-1]
	s.brackets = s.brackets[:n-1]
	if start > 0 && s.text[start-1] == '!' {
		start--
	}
	if i+1 < to && s.text[i+1] == '(' {
		s.parens = append(s.parens, start)
		return i + 2
	}
	if start > 0 && s.text[start-1] == ']' || i+1 < to && s.text[i+1] == '[' {
		s.keep(start, i+1) // half of a reference link
	}
	return i + 1
}

// paren reads ')': the target of a link ends, if one had begun.
func (s *rangeScanner) paren(i int) {
	n := len(s.parens)
	if n == 0 {
		return
	}
	if link := s.parens[n-1]; link >= 0 {
		s.keep(link, i+1)
	}
	s.parens = s.parens[:n-1]
}

// style reads a run of an emphasis character and pairs it with the last run of
// the same kind in the paragraph.
func (s *rangeScanner) style(i, to int) int {
	c := s.text[i]
	n := runLength(s.text[i:to])
	end := i + n
	if (c == '~' || c == '|') && n != 2 || n > 3 {
		return end
	}
	before, _ := utf8.DecodeLastRuneInString(s.text[:i])
	after, _ := utf8.DecodeRuneInString(s.text[end:to])
	opener := &s.styles[strings.IndexByte(styleChars, c)][n-1]
	word := c == '_' && isWord(before) && isWord(after)
	switch {
	case word: // snake_case
	case *opener > 0 && i > 0 && !unicode.IsSpace(before):
		s.soft = append(s.soft, Range{Start: *opener - 1, End: end, Soft: true})
		*opener = 0
	case end < to && !unicode.IsSpace(after):
		*opener = i + 1
	}
	return end
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
