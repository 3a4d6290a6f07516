package cluster

import (
	"fmt"

	"holdfast/tests/referee/network"
	"holdfast/tests/referee/process"
)

// OnLoopback are the places of a cluster that is all on this machine.
func OnLoopback() (members, nodes [Size]Place, err error) {
	addresses, err := process.FreePorts(Size * (portsOfMember + PortsOfNode))
	if err != nil {
		return members, nodes, err
	}
	take := func(count int) Place {
		place := Place{Host: "127.0.0.1"}
		for _, address := range addresses[:count] {
			place.Ports = append(place.Ports, address[len("127.0.0.1:"):])
		}
		addresses = addresses[count:]
		return place
	}
	for i := range members {
		members[i], nodes[i] = take(portsOfMember), take(PortsOfNode)
	}
	return members, nodes, nil
}

// InNetwork are places that each have a network of their own.
func InNetwork(n *network.Network) (members, nodes [Size]Place, err error) {
	for i := 0; i < Size; i++ {
		if members[i], err = inNetwork(n, portsOfMember); err != nil {
			return members, nodes, err
		}
		if nodes[i], err = inNetwork(n, PortsOfNode); err != nil {
			return members, nodes, err
		}
	}
	return members, nodes, nil
}

func inNetwork(n *network.Network, ports int) (Place, error) {
	added, err := n.Add()
	if err != nil {
		return Place{}, err
	}
	place := Place{Host: added.Host, Prefix: added.Prefix(), Network: added}
	for port := 0; port < ports; port++ {
		place.Ports = append(place.Ports, fmt.Sprint(7001+port))
	}
	return place, nil
}
