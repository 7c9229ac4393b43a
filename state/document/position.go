package document

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Position returns the line and column, from 1, of byte offset of the node's
// text. Where the text is not written in the file as it reads (folded lines,
// escapes before the offset), it is the node's own position, or in a literal
// block the line's.
func (n *Node) Position(offset int) (line, column int) {
	text, ok := n.scalar.(string)
	if !ok || offset < 0 || offset > len(text) {
		return n.Line, n.Column
	}
	if n.style&yaml.LiteralStyle != 0 {
		return n.blockPosition(text, offset)
	}
	raw := n.doc.rest(n.Line, n.Column)
	quote := 0
	if n.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		quote = 1
	}
	before := text[:offset]
	if quote == 1 && n.style&yaml.SingleQuotedStyle != 0 {
		before = strings.ReplaceAll(before, "'", "''")
	} else if quote == 1 {
		before = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(before)
	}
	if len(raw) < quote || !bytes.HasPrefix(raw[quote:], []byte(before)) {
		return n.Line, n.Column
	}
	return n.Line, n.Column + quote + utf8.RuneCountInString(before)
}

// blockPosition finds an offset in a literal block: below the | that opens it,
// each line of the text behind the same indentation.
func (n *Node) blockPosition(text string, offset int) (line, column int) {
	begin := strings.LastIndexByte(text[:offset], '\n') + 1
	whole, _, _ := strings.Cut(text[begin:], "\n")
	line = n.Line + 1 + strings.Count(text[:begin], "\n")
	raw := n.doc.rest(line, 1)
	start := bytes.Index(raw, []byte(whole))
	if start < 0 {
		return n.Line, n.Column
	}
	return line, 1 + utf8.RuneCount(raw[:start]) + utf8.RuneCountInString(text[begin:offset])
}

// Cut reports whether a text without quotes is followed by a comment, which may
// have been meant to belong to it.
func (n *Node) Cut() bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	text, ok := n.scalar.(string)
	if !ok || n.style&quoted != 0 {
		return false
	}
	after, found := bytes.CutPrefix(n.doc.rest(n.Line, n.Column), []byte(text))
	return found && bytes.HasPrefix(bytes.TrimLeft(after, " \t"), []byte("#"))
}

// rest returns what stands in a line from a column on.
func (d *Document) rest(line, column int) []byte {
	if line < 1 || line > len(d.lines) {
		return nil
	}
	raw := d.lines[line-1]
	for ; column > 1 && len(raw) > 0; column-- {
		_, size := utf8.DecodeRune(raw)
		raw = raw[size:]
	}
	return raw
}
