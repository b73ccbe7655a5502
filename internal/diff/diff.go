package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"gomodules.xyz/jsonpatch/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Of returns the operations that make wanted of live, two states of a resource as Essence returns them, with values of
// Secrets masked. It is nil if there is no difference. If live is nil it is one operation, which adds the whole
// resource.
func Of(live, wanted map[string]any) ([]commonv1.DiffOperation, error) {
	if live == nil {
		return []commonv1.DiffOperation{{Op: "add", Path: "", Value: encode(mask(wanted, nil, MaskedAfter))}}, nil
	}
	before, after := encode(mask(live, wanted, Masked)), encode(mask(wanted, live, MaskedAfter))
	patch, err := jsonpatch.CreatePatch(before.Raw, after.Raw)
	if err != nil {
		return nil, errors.Wrap(err, "cannot compare resources")
	}
	slices.SortStableFunc(patch, func(a, b jsonpatch.Operation) int { return slices.Compare(rank(a), rank(b)) })
	var ops []commonv1.DiffOperation
	for _, p := range patch {
		op := commonv1.DiffOperation{Op: p.Operation, Path: p.Path}
		if p.Operation != "remove" {
			op.Value = encode(p.Value)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// listMost is more than the items any list has.
const listMost = 99_999_999

// rank returns the place of an operation among others: by the path, in which numbers count as such. Items that are
// removed from a list go from the last to the first, so that none changes the index of another.
func rank(op jsonpatch.Operation) []string {
	place := tokens(op.Path)
	for i, t := range place {
		n, err := strconv.Atoi(t)
		if err != nil || n > listMost {
			continue
		}
		if op.Operation == "remove" && i == len(place)-1 {
			n = listMost - n
		}
		place[i] = fmt.Sprintf("%08d", n)
	}
	return append(place, op.Path)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// tokens returns the parts of a JSON pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		parts[i] = unescape.Replace(p)
	}
	return parts
}

func encode(v any) *apiextensionsv1.JSON {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return &apiextensionsv1.JSON{Raw: b}
}
