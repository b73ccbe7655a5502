package collection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// A resourceID identifies a resource on a target.
type resourceID struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// digits are how many digits of the hash of a resource the name of its member may end with. The last are all.
var digits = [...]int{7, 14, 28, 64}

// ended is a name that ends like that of a member; its first group is the name of the collection.
var ended = regexp.MustCompile(`^(.+)-(?:[0-9a-f]{7}|[0-9a-f]{14}|[0-9a-f]{28}|[0-9a-f]{64})$`)

// names returns the names that the member of a resource may have, the one to prefer first.
func (r resourceID) names(collection string) [len(digits)]string {
	// The text is that of provider-kubernetes, for example "apps/v1, Kind=Deployment/default/web".
	sum := sha256.Sum256(fmt.Appendf(nil, "%v/%s/%s", r.GroupVersionKind, r.Namespace, r.Name))
	hash := hex.EncodeToString(sum[:])
	var names [len(digits)]string
	for i, n := range digits {
		names[i] = collection + "-" + hash[:n]
	}
	return names
}

// collectionOf returns the collection whose member an Object would be by its name alone, and whether there may be one.
func collectionOf(name string) (string, bool) {
	m := ended.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// assign returns the resource that the member of each name stands for. held are the members there are, by name, and
// selected are the resources without repetition; if names collide, the first of them has the better one. Members keep
// their names.
func assign(collection string, selected []resourceID, held map[string]member) map[string]resourceID {
	assigned := make(map[string]resourceID, len(selected))
	var nameless []resourceID
	for _, r := range selected {
		if name, ok := kept(r.names(collection), r, held); ok {
			assigned[name] = r
			continue
		}
		nameless = append(nameless, r)
	}
	for _, r := range nameless {
		for _, name := range r.names(collection) {
			_, taken := assigned[name]
			if taken || held[name].standsFor(collection, name) {
				continue
			}
			assigned[name] = r
			break
		}
	}
	return assigned
}

// kept returns the name that the member of a resource has already, and whether it has one.
func kept(names [len(digits)]string, r resourceID, held map[string]member) (string, bool) {
	for _, name := range names {
		if m, ok := held[name]; ok && m.resource == r {
			return name, true
		}
	}
	return "", false
}

// standsFor reports whether a name is one that the member of its resource may have. A change of the manifest of a
// member does not move its name to another resource.
func (m member) standsFor(collection, name string) bool {
	names := m.resource.names(collection)
	return slices.Contains(names[:], name)
}
