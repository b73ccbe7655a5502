package objectsync

import (
	"cmp"
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// adopt remembers of a copy that this primary has not recorded yet what another object of the workspace last copied
// there: the copy may be behind, and what it lacks is known from that alone. One that was found there is not one whose
// state was lost, and one that was met as it was to be made is not what it was to be.
func (p *pass) adopt(m relation) error {
	if p.recorded(m) {
		return nil
	}
	is := p.subjectOf(m.record())
	all := p.alike(m.record())
	slices.SortStableFunc(all, func(a, b Holding) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	for _, h := range all {
		secret, err := p.Service.Cache(Secrets).Get(h.State)
		if err != nil {
			return err
		}
		value := slotIn(secret, is)
		if value == nil {
			continue
		}
		next := slot{p.state.key(is), value}
		if err := p.state.hasRoomFor(next); err != nil {
			return err
		}
		p.state.fill(next)
		return nil
	}
	return nil
}

// rankOf orders those who have copied before those who are about to.
func rankOf(h Holding) int {
	if h.Kept {
		return 0
	}
	return 1
}

// slotIn returns what a state remembers of an object, nil if it is not remembered there. It reads nothing else of it.
func slotIn(secret *unstructured.Unstructured, o subject) []byte {
	if secret == nil {
		return nil
	}
	data, _, _ := unstructured.NestedFieldNoCopy(secret.Object, "data")
	for _, key := range []string{o.ownKey(), o.agentsKey()} {
		encoded, _ := asMap(data)[key].(string)
		if b, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(b) > 0 && kindIn(b) == o.kind {
			return b
		}
	}
	return nil
}
