package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// canvas writes elements and remembers the first error.
type canvas struct {
	w   io.Writer
	err error
}

func (c *canvas) f(format string, args ...any) {
	if c.err == nil {
		_, c.err = fmt.Fprintf(c.w, format, args...)
	}
}

func (c *canvas) rect(x, y, w, h float64, fill string) {
	c.f("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, w, h, fill)
}

func (c *canvas) line(x1, y1, x2, y2 float64, style string) {
	c.f("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style)
}

// text writes at x, y; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, class, s string) {
	c.f("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n", x, y, anchor, class, escape(s))
}

// upright writes s from bottom to top, its middle at x, y.
func (c *canvas) upright(x, y float64, class, s string) {
	c.f("<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\" class=\"%s\">%s</text>\n", x, y, class, escape(s))
}

// path draws pieces, each a run of points.
func (c *canvas) path(pieces [][]point, style string) {
	var b strings.Builder
	for _, piece := range pieces {
		for i, p := range piece {
			command := "L"
			if i == 0 {
				command = "M"
			}
			fmt.Fprintf(&b, "%s%.1f %.1f", command, p.x, p.y)
		}
		if len(piece) == 1 { // a lone point shows as a dot
			fmt.Fprintf(&b, "h0.1")
		}
	}
	if b.Len() > 0 {
		c.f("<path d=\"%s\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" %s/>\n", b.String(), style)
	}
}

type point struct{ x, y float64 }

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder never fails
	return b.String()
}
