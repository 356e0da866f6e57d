package text

import (
	"strings"
	"unicode/utf8"
)

// cut is where a part ends.
type cut struct {
	end     int
	inFence bool // the part has to close a fence
	forced  bool // one rune, taken because nothing fits
	roomy   bool // the reserve fits behind it
}

// minFill is the share of the longest possible part, 1/n, that a cut of a rank
// must leave in the part; 0 means any. It keeps a good place near the start of
// a part from making a tiny message.
var minFill = [ranks]int{rankParagraph: 3, rankLine: 2, rankSentence: 2}

// cut finds the end of the part that starts at pos with head.
func (s *splitter) cut(pos int, head string) cut {
	best, ok := s.scan(pos, head, s.SoftLines)
	if !ok && s.SoftLines > 0 {
		best, ok = s.scan(pos, head, 0)
	}
	if ok {
		return best
	}
	_, n := utf8.DecodeRuneInString(s.text[pos:])
	c := cut{end: pos + n, forced: true}
	c.roomy = s.Reserve == 0 || s.Unit.Measure(s.text[pos:c.end])+s.Reserve <= s.Max
	return c
}

// scan reads forward from pos as far as a part can reach and remembers the last
// place of each rank. It looks at most one part ahead, and a cut leaves at most
// a fixed share of that to be read again: the whole is linear.
func (s *splitter) scan(pos int, head string, maxLines int) (cut, bool) {
	var (
		last   [ranks]cut
		reach  = pos // the furthest place a part could end
		length = s.Unit.Measure(head)
		lines  = 1 + strings.Count(head, "\n")
		fence  = 0
		tight  cut // the end of the text, without room for the reserve
	)
	for i := pos; i < len(s.text); {
		r, n := utf8.DecodeRuneInString(s.text[i:])
		if s.Unit != Graphemes {
			length += runeCost(s.Unit, r)
		} else if i == pos || s.marks[i]&clusterStart != 0 {
			length++
		}
		i += n
		if length > s.Max {
			break
		}
		c, fits := s.candidate(i, &fence, length, lines, maxLines)
		switch {
		case fits && c.roomy:
			last[s.rankOf(i)] = c
			reach = i
		case fits:
			tight = c
		}
		if r == '\n' {
			lines++
		}
		if maxLines > 0 && lines > maxLines+1 {
			break
		}
	}
	c, r := choose(&last, pos, reach)
	if r <= rankKept && tight.end > 0 {
		return tight, true // a lone suffix is better than half a link
	}
	return c, r > rankNone
}

// rankOf is the rank of a candidate: where only white space follows, the end.
func (s *splitter) rankOf(i int) rank {
	if i == len(s.text) || i >= s.trimmed && !s.inBody(i) {
		return rankEnd
	}
	return s.marks.at(i)
}

// candidate reports whether a part can end at i, given its length and number of
// lines without a tail.
func (s *splitter) candidate(i int, fence *int, length, lines, maxLines int) (cut, bool) {
	r := s.marks.at(i)
	if r == rankNone {
		return cut{}, false
	}
	c := cut{end: i, roomy: true}
	for *fence < len(s.fences) && s.fences[*fence].End < i {
		*fence++
	}
	if *fence < len(s.fences) && s.fences[*fence].needsClose(i) {
		c.inFence = true
		lines++
		length += s.fences[*fence].closing
		if s.text[i-1] != '\n' {
			length++ // the newline before the closing line
		}
	}
	if length > s.Max || maxLines > 0 && lines > maxLines {
		return cut{}, false
	}
	c.roomy = length+s.Reserve <= s.Max || s.rankOf(i) != rankEnd
	return c, true
}

// choose picks among the last places of each rank, and tells the rank.
func choose(last *[ranks]cut, pos, reach int) (cut, rank) {
	if last[rankEnd].end > 0 {
		return last[rankEnd], rankEnd
	}
	for r := rankParagraph; r >= rankSentence; r-- {
		if end := last[r].end; end > 0 && (end-pos)*minFill[r] >= reach-pos {
			return last[r], r
		}
	}
	best := rankWord
	for r := rankSentence; r < rankEnd; r++ {
		if last[r].end > last[best].end {
			best = r
		}
	}
	for best > rankNone && last[best].end == 0 {
		best--
	}
	return last[best], best
}
