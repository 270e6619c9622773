package tf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// ConfigType returns the data type expression of the configuration of a provider.
func ConfigType(s *wire.Schema) (string, error) {
	if _, err := value.Compile(s); err != nil {
		return "", err
	}
	return new(typer).block(&s.Block)
}

// typer makes data type expressions. It is used for one attribute.
type typer struct {
	loose  bool // a part was too large for an expression, so any object is accepted there
	secret bool // a member is sensitive
}

// maxPart bounds the expression of an object in bytes, below the limit of a declaration.
const maxPart = 32 << 10

// maxTwice bounds the expression of an object that occurs twice in another one. Without it,
// expressions would grow exponentially with the depth.
const maxTwice = 2 << 10

// anyObject is the data type of objects that only the provider's schema describes.
const anyObject = "Hash[String, Any]"

// attribute returns the data type of an attribute, apart from whether it is optional or secret.
func (y *typer) attribute(a *wire.Attribute) (string, error) {
	if a.Nested == nil {
		ty, err := value.ParseType(a.Type)
		if err != nil {
			return "", err
		}
		return plainType(ty), nil
	}
	members, err := y.members(a.Nested.Attributes)
	if err != nil {
		return "", err
	}
	return y.collection(y.object(members), a.Nested.Nesting, 0, 0), nil
}

// plainType returns the data type of values of a type without a schema.
func plainType(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "String"
	case ty == cty.Bool:
		return "Boolean"
	case ty == cty.Number:
		return "Numeric"
	case ty.IsListType(), ty.IsSetType():
		return "Array[" + plainType(ty.ElementType()) + "]"
	case ty.IsMapType():
		return "Hash[String, " + plainType(ty.ElementType()) + "]"
	case ty.IsTupleType():
		types := ty.TupleElementTypes()
		if len(types) == 0 {
			return "Array[Any, 0, 0]"
		}
		out := make([]string, len(types))
		for i, t := range types {
			out[i] = plainType(t)
		}
		return "Tuple[" + strings.Join(out, ", ") + "]"
	case ty.IsObjectType():
		var members []string
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			members = append(members, member(name, plainType(ty.AttributeType(name)), true))
		}
		return structType(members)
	}
	return "Any"
}

// member returns a member of a Struct. An optional member may also be null.
func member(name, expr string, optional bool) string {
	if optional {
		expr = "Optional[" + expr + "]"
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "' => " + expr
}

func structType(members []string) string {
	if len(members) == 0 {
		return "Hash[String, Any, 0, 0]"
	}
	return "Struct[{" + strings.Join(members, ", ") + "}]"
}

// object returns the data type of an object with a schema.
func (y *typer) object(members []string) string {
	out := structType(members)
	if len(out) > maxPart {
		y.loose, out = true, anyObject
	}
	return out
}

// members returns the members of a Struct for attributes. Members that only the provider sets
// are optional, as objects that were read have them.
func (y *typer) members(list []wire.Attribute) ([]string, error) {
	out := make([]string, len(list))
	for i := range list {
		a := &list[i]
		expr, err := y.attribute(a)
		if err != nil {
			return nil, err
		}
		y.secret = y.secret || a.Sensitive
		if a.Sensitive && (a.Optional || a.Required) {
			expr = "Sensitive[" + expr + "]"
		}
		out[i] = member(a.Name, expr, !a.Required)
	}
	return out, nil
}

// block returns the data type of one block.
func (y *typer) block(b *wire.Block) (string, error) {
	members, err := y.members(b.Attributes)
	if err != nil {
		return "", err
	}
	for i := range b.Blocks {
		n := &b.Blocks[i]
		expr, err := y.nested(n)
		if err != nil {
			return "", err
		}
		members = append(members, member(n.Name, expr, n.MinItems == 0))
	}
	return y.object(members), nil
}

// nested returns the data type of all blocks of a name.
func (y *typer) nested(n *wire.NestedBlock) (string, error) {
	expr, err := y.block(&n.Block)
	if err != nil {
		return "", err
	}
	return y.collection(expr, n.Nesting, n.MinItems, n.MaxItems), nil
}

// collection returns the data type of objects that are nested. One object is accepted for a list of
// at most one.
func (y *typer) collection(of string, nesting wire.Nesting, least, most int64) string {
	switch nesting {
	case wire.NestingMap:
		return "Hash[String, " + of + "]"
	case wire.NestingList, wire.NestingSet:
	default:
		return of
	}
	list := "Array[" + of
	switch {
	case most > 0:
		list += fmt.Sprintf(", %d, %d]", max(least, 0), max(least, most))
	case least > 0:
		list += fmt.Sprintf(", %d, default]", least)
	default:
		list += "]"
	}
	switch {
	case most == 1 && len(of) <= maxTwice:
		return "Variant[" + of + ", " + list + "]"
	case most == 1:
		y.loose = true
		return "Variant[" + anyObject + ", " + list + "]"
	}
	return list
}
