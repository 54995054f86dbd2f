"""Graphs: edge lists, GraphML and GML."""
