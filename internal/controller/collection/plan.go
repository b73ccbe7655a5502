package collection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A plan is what has to be written so that a collection has the members it should have. All of it is sorted by name.
type plan struct {
	apply []application
	prune []member
}

// An application is a member to apply.
type application struct {
	name     string
	resource resourceID
	uid      types.UID // of the member there is, empty if there is none
}

// planFor compares the members that are held with those assigned. A member that is being deleted is left alone until it
// is gone.
func planFor(assigned map[string]resourceID, held map[string]member, t template) plan {
	var p plan
	for name, r := range assigned {
		m, ok := held[name]
		if ok && (m.terminating || t.fits(m, r)) {
			continue
		}
		p.apply = append(p.apply, application{name: name, resource: r, uid: m.uid})
	}
	for name, m := range held {
		if _, ok := assigned[name]; !ok && m.owned && !m.terminating {
			p.prune = append(p.prune, m)
		}
	}
	slices.SortFunc(p.apply, func(a, b application) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(p.prune, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return p
}

// hashTemplate returns the hexadecimal SHA-256 of a template.
func hashTemplate(t *commonv1.ObservedObjectTemplate) (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", errors.Wrap(err, "cannot encode spec.objectTemplate")
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
