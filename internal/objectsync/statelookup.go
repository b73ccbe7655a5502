package objectsync

import (
	"encoding/base64"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// RefOf names the object of a consumer.
func (s *Syncer) RefOf(p Primary) Ref { return s.primary.Workspace.ref(p.NamespacedName) }

// copyRef names a copy of an object.
func (s *Syncer) copyRef(n types.NamespacedName) Ref { return s.primary.Service.ref(n) }

// StateOf returns the name of the Secret with the state of an object.
func (s *Syncer) StateOf(p Primary) types.NamespacedName {
	return types.NamespacedName{Namespace: s.stateNamespace, Name: s.identity(p).StateName(s.primary.Workspace.Version)}
}

// StateKeyOf returns what a Secret with a state is indexed by, empty if it is none. Other than its name the key does
// not change with versions.
func StateKeyOf(secret *unstructured.Unstructured) string {
	l := secret.GetLabels()
	if l[LabelState] == "" || l[LabelCluster] == "" {
		return ""
	}
	return keyOf(l)
}

// ChooseState returns the state of an object, nil if there is none: the Secret with the name that it has by now, or one
// with its key that was made when the API had another version.
func (s *Syncer) ChooseState(p Primary, named *unstructured.Unstructured,
	keyed []*unstructured.Unstructured,
) *unstructured.Unstructured {
	if named != nil {
		return named
	}
	i := slices.IndexFunc(keyed, func(u *unstructured.Unstructured) bool {
		return s.Owns(u) && slotIn(u, p.Cluster, s.RefOf(p)) != nil
	})
	if i < 0 {
		return nil
	}
	return keyed[i]
}

// NamesState reports whether a name of a Secret is one of states.
func (s *Syncer) NamesState(n types.NamespacedName) bool {
	return n.Namespace == s.stateNamespace && strings.HasPrefix(n.Name, statePrefix)
}

// Owns reports whether a Secret is a state of this publication, or of none: those of api-syncagent do not tell whose
// they are. Nil is no state.
func (s *Syncer) Owns(secret *unstructured.Unstructured) bool {
	if secret == nil {
		return false
	}
	l, by := secret.GetLabels(), secret.GetAnnotations()[AnnotationPublication]
	agent := l[v1alpha1.LabelKeyAgentName]
	return l[LabelState] != "" && (agent == "" || agent == s.agent) && (by == "" || by == s.publication)
}

// Held returns what an object keeps by its state, nothing if the Secret is none of this owner.
func (s *Syncer) Held(p Primary, secret *unstructured.Unstructured) []Holding {
	if !s.Owns(secret) {
		return nil
	}
	all := HeldBy(secret)
	for i := range all {
		all[i].Primary = p
	}
	return all
}

// HeldBy returns what is kept by a state or, not kept, about to be made, whoever the owner. All that is told of the
// primary is its logical cluster. A state that cannot be read tells nothing: to sync its object fails.
func HeldBy(secret *unstructured.Unstructured) []Holding {
	if secret == nil {
		return nil
	}
	var records []recorded
	if readValue(secret, keyRecords, &records) != nil {
		return nil
	}
	var all []Holding
	for _, r := range records {
		all = append(all, Holding{
			Primary: Primary{Cluster: secret.GetLabels()[LabelCluster]}, State: nameOf(secret), Record: r.Record,
			Kept: !r.Pending,
		})
	}
	return all
}

// identity returns that of an object, without the path of its workspace.
func (s *Syncer) identity(p Primary) Identity {
	return Identity{
		NamespacedName: p.NamespacedName, Cluster: p.Cluster, Agent: s.agent, Publication: s.publication,
		Kind: schema.GroupKind{Group: s.primary.Workspace.Group, Kind: s.primary.Workspace.Kind},
	}
}

// slotIn returns what a state remembers of an object, nil if it is not remembered there. It reads nothing else of it.
func slotIn(secret *unstructured.Unstructured, cluster string, o Ref) []byte {
	data, _, _ := unstructured.NestedFieldNoCopy(secret.Object, "data")
	agents, own := keysOf(cluster, o, Ref{})
	for _, key := range []string{own, agents} {
		encoded, _ := asMap(data)[key].(string)
		if b, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(b) > 0 && kindIn(b) == o.groupKind() {
			return b
		}
	}
	return nil
}

// IsAt reports whether an object is where a state says that the copy is, or may be if the state does not say where. A
// Secret that is nil says that it is nowhere.
func IsAt(secret, u *unstructured.Unstructured) bool {
	var at place
	return secret != nil && readValue(secret, keyCopy, &at) == nil &&
		(at.Name == "" || at.namespacedName() == nameOf(u))
}
