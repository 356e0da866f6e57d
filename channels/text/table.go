package text

import (
	"strings"

	"github.com/rivo/uniseg"
)

// maxPadding is the widest column that is aligned, in terminal cells; longer
// cells stick out. It bounds what one long cell costs the other rows.
const maxPadding = 40

// table writes a table with aligned columns:
//
//	name | size
//	-----+-----
//	a    |   12
func (w *plainWriter) table(t *Table) {
	rows := make([][]string, 0, len(t.Rows)+1)
	rows = append(rows, flatCells(t.Header))
	for _, r := range t.Rows {
		rows = append(rows, flatCells(r))
	}
	widths := make([]int, len(t.Header))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(maxPadding, uniseg.StringWidth(cell)))
		}
	}
	for i, row := range rows {
		if i > 0 {
			w.newline()
		}
		w.write(tableRow(row, widths, t.Align))
		if i == 0 {
			w.newline()
			w.write(tableRuler(widths))
		}
	}
}

func tableRow(row []string, widths []int, align []Align) string {
	var b strings.Builder
	for i, cell := range row {
		if i > 0 {
			b.WriteString(" | ")
		}
		free := max(0, widths[i]-uniseg.StringWidth(cell))
		left := 0
		switch align[i] {
		case AlignRight:
			left = free
		case AlignCenter:
			left = free / 2
		}
		b.WriteString(strings.Repeat(" ", left))
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", free-left))
	}
	return strings.TrimRight(b.String(), " ")
}

func tableRuler(widths []int) string {
	var b strings.Builder
	for i, width := range widths {
		if i > 0 {
			b.WriteString("-+-")
		}
		b.WriteString(strings.Repeat("-", width))
	}
	return b.String()
}

// flatCells renders cells as single lines.
func flatCells(cells []Cell) []string {
	flat := make([]string, len(cells))
	for i, c := range cells {
		var w plainWriter
		w.inlines(c)
		flat[i] = oneLine(w.b.String())
	}
	return flat
}
