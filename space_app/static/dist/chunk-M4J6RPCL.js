import{d as a,e as b}from"./chunk-NTA5ALH7.js";export{b as parsePayload,a as readColumns};
