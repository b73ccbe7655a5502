package provenance

import (
	"strings"
	"text/template/parse"
)

// A Context tells what the fields of a template are.
type Context struct {
	// Of returns what is known of a field, by its path. Of what it does not know it returns Entered.
	Of func(path ...string) Value
	// Side is the value of field Side, if the template has one.
	Side string
}

// A Template is the text of a Go template.
type Template struct{ root *parse.ListNode } // nil if it cannot be read

// Parse reads a template. One that cannot be read yields the consumer's.
func Parse(text string) *Template {
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
		return &Template{}
	}
	return &Template{root: t.Root}
}

// Value returns what is known of the text that the template yields.
func (t *Template) Value(c Context) Value {
	if t.root == nil {
		return Entered
	}
	return Join(c.list(t.root)...)
}

func (c Context) list(l *parse.ListNode) []Part {
	var out []Part
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.CommentNode:
		case *parse.TextNode:
			out = append(out, Text(string(n.Text)))
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 { // What a variable holds counts where it is used.
				out = append(out, c.pipe(n.Pipe)...)
			}
		case *parse.IfNode:
			out = append(out, c.branch(n)...)
		default:
			out = append(out, Of(Entered))
		}
	}
	return out
}

// branch returns the parts of the branch that is taken on this side, or what both have in common.
func (c Context) branch(n *parse.IfNode) []Part {
	if side, ok := comparedSide(n.Pipe); ok {
		if side == c.Side {
			return c.list(n.List)
		}
		return c.list(n.ElseList)
	}
	a, b := Join(c.list(n.List)...), Join(c.list(n.ElseList)...)
	condition := Join(c.pipe(n.Pipe)...)
	if condition.Source != Provider {
		condition.Source = Consumer // Even by a hash the consumer can choose between two.
	}
	return []Part{Of(Value{Source: max(a.Source, b.Source, condition.Source), Unique: a.Unique && b.Unique})}
}

// comparedSide returns the text that a condition compares field Side with.
func comparedSide(p *parse.PipeNode) (side string, ok bool) {
	if len(p.Cmds) != 1 || len(p.Decl) > 0 || len(p.Cmds[0].Args) != 3 {
		return "", false
	}
	args := p.Cmds[0].Args
	f, isFunction := args[0].(*parse.IdentifierNode)
	field, isField := args[1].(*parse.FieldNode)
	s, isText := args[2].(*parse.StringNode)
	if !isFunction || !isField || !isText || f.Ident != "eq" || len(field.Ident) != 1 || field.Ident[0] != "Side" {
		return "", false
	}
	return s.Text, true
}

// pipe returns the parts of what a pipeline yields.
func (c Context) pipe(p *parse.PipeNode) []Part {
	var out []Part
	for i, command := range p.Cmds {
		var last [][]Part
		if i > 0 {
			last = [][]Part{out}
		}
		out = c.command(command, last)
	}
	return out
}

// command returns the parts of what a command yields. Last is the argument that a pipeline adds.
func (c Context) command(n *parse.CommandNode, last [][]Part) []Part {
	f, ok := n.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(n.Args) > 1 || len(last) > 0 {
			return []Part{Of(Entered)}
		}
		return c.operand(n.Args[0])
	}
	var args [][]Part
	for _, a := range n.Args[1:] {
		args = append(args, c.operand(a))
	}
	return call(f.Ident, append(args, last...))
}

func (c Context) operand(n parse.Node) []Part {
	switch n := n.(type) {
	case *parse.FieldNode:
		return []Part{Of(c.Of(n.Ident...))}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return []Part{Of(c.Of(n.Ident[1:]...))}
		}
	case *parse.StringNode:
		return []Part{Text(n.Text)}
	case *parse.NumberNode:
		return []Part{Text(n.Text)}
	case *parse.PipeNode:
		return c.pipe(n)
	}
	return []Part{Of(Entered)}
}

// call returns the parts of what a function yields.
func call(function string, args [][]Part) []Part {
	switch function {
	case "sha3short", "sha3sum", "shortHash", "sha1sum", "sha256sum", "sha512sum":
		if len(args) == 1 {
			return []Part{Of(Hashed(Join(args[0]...)))}
		}
	case "lower", "toString", "trim", "print":
		if len(args) == 1 {
			return args[0]
		}
	case "printf":
		if parts, ok := formatted(args); ok {
			return parts
		}
	}
	for _, a := range args {
		if Join(a...).Source != Provider {
			return []Part{Of(Entered)} // Of a hash it may leave a digit.
		}
	}
	return []Part{Of(Fixed)}
}

// formatted returns the parts of what printf yields, if the format inserts its arguments as they are.
func formatted(args [][]Part) (parts []Part, ok bool) {
	if len(args) == 0 || len(args[0]) != 1 || !args[0][0].constant {
		return nil, false
	}
	texts := strings.Split(strings.ReplaceAll(args[0][0].text, "%v", "%s"), "%s")
	if len(texts) != len(args) {
		return nil, false
	}
	for i, s := range texts {
		if strings.Contains(s, "%") {
			return nil, false
		}
		parts = append(parts, Text(s))
		if i+1 < len(args) {
			parts = append(parts, args[i+1]...)
		}
	}
	return parts, true
}
