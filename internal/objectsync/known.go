package objectsync

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// RefOf names the object of a consumer.
func (s *Syncer) RefOf(p Primary) Ref { return s.primary.Workspace.ref(p.NamespacedName) }

// StateOf returns the name of the Secret with the state of an object.
func (s *Syncer) StateOf(p Primary) types.NamespacedName {
	return types.NamespacedName{Namespace: s.stateNamespace, Name: s.identity(p).StateName(s.primary.Workspace.Version)}
}

// identity returns that of an object, without the path of its workspace.
func (s *Syncer) identity(p Primary) Identity {
	return Identity{
		NamespacedName: p.NamespacedName, Cluster: p.Cluster, Agent: s.agent,
		Kind: schema.GroupKind{Group: s.primary.Workspace.Group, Kind: s.primary.Workspace.Kind},
	}
}
