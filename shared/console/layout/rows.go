package layout

import (
	"cmp"
	"slices"
)

// Row is a box as a row of a table, with the lines that it has.
type Row struct {
	Title  string // the whole title, with marks for control characters
	Short  string // the title, its middle cut if it is long
	Count  int
	Status Status
	URL    string // "" for none
	Hint   string
	// Above are the ends of lines that lead to the box, Below those of lines that leave it.
	Above, Below []End
	Current      bool
}

// End is the other end of a line.
type End struct {
	Title, Short, URL string
	Label             string
	Count             int
	Back              bool
}

// Rows returns the boxes from the top to the bottom, and in each layer from the left to the right.
// It says the same as SVG.
func (d *Drawing) Rows() []Row {
	order, at := d.order()
	rows := make([]Row, len(order))
	for n, i := range order {
		b := &d.Boxes[i]
		rows[n] = Row{Title: plain(b.Title), Short: cut(plain(b.Title), 2*titleCells),
			Count: b.Count, Status: b.Status, URL: safe(b.URL), Hint: plain(b.Hint), Current: b.Current}
	}
	for _, l := range d.Lines {
		from, to := &rows[at[l.From]], &rows[at[l.To]]
		label := plain(l.Edge.Label)
		from.Below = append(from.Below, End{to.Title, to.Short, to.URL, label, l.Count, l.Back})
		to.Above = append(to.Above, End{from.Title, from.Short, from.URL, label, l.Count, l.Back})
	}
	return rows
}

// order returns the indexes of the boxes in the order of the rows, and the row of each box.
func (d *Drawing) order() (order, at []int) {
	order, at = make([]int, len(d.Boxes)), make([]int, len(d.Boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.Boxes[a].Y, d.Boxes[b].Y), cmp.Compare(d.Boxes[a].X, d.Boxes[b].X))
	})
	for n, i := range order {
		at[i] = n
	}
	return order, at
}
